-- transaction: per statement
-- A node leader claims the calls of one account over one trunk. By calls_waiting, it read those that other accounts queued
-- on the node before. Only submitted calls that no leader has claimed have an entry; no update of a queued call writes one
-- unless it writes calls_waiting, too.
create index concurrently if not exists calls_queued on calls (node_id, account_id, trunk_id, due_at, id)
  where stage = 'queued';
