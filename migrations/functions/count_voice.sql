-- Moves p_n recipients from one state's count to another's (null: none) and adds attempts, cost and talk
-- time. Call it last in a transaction, because it locks the slot: 0 for claims, 1-8 for ended calls, 9 for
-- controls and intake.
create or replace function count_voice(
  p_account_id bigint, p_campaign_id bigint, p_slot int, p_from text, p_to text, p_n int,
  p_attempts int default 0, p_cost bigint default 0, p_talk_seconds bigint default 0
) returns void
language plpgsql as $$
begin
  insert into voice_counts as k (account_id, campaign_id, slot, synthesizing, waiting, calling, answered,
    machine, busy, no_answer, failed, suppressed, skipped, cancelled, attempts, cost, talk_seconds)
  select p_account_id, p_campaign_id, p_slot,
    sum(d.n) filter (where d.state = 'synthesizing'), sum(d.n) filter (where d.state = 'waiting'),
    sum(d.n) filter (where d.state = 'calling'), sum(d.n) filter (where d.state = 'answered'),
    sum(d.n) filter (where d.state = 'machine'), sum(d.n) filter (where d.state = 'busy'),
    sum(d.n) filter (where d.state = 'no_answer'), sum(d.n) filter (where d.state = 'failed'),
    sum(d.n) filter (where d.state = 'suppressed'), sum(d.n) filter (where d.state = 'skipped'),
    sum(d.n) filter (where d.state = 'cancelled'),
    p_attempts, p_cost, p_talk_seconds
  from (
    -- Each state once, so that no sum is null.
    select unnest(array['synthesizing', 'waiting', 'calling', 'answered', 'machine', 'busy', 'no_answer',
      'failed', 'suppressed', 'skipped', 'cancelled']) as state, 0 as n
    union all values (p_from, -p_n), (p_to, p_n)) d
  on conflict (account_id, campaign_id, slot) do update set
    synthesizing = k.synthesizing + excluded.synthesizing, waiting = k.waiting + excluded.waiting,
    calling = k.calling + excluded.calling, answered = k.answered + excluded.answered,
    machine = k.machine + excluded.machine, busy = k.busy + excluded.busy,
    no_answer = k.no_answer + excluded.no_answer, failed = k.failed + excluded.failed,
    suppressed = k.suppressed + excluded.suppressed, skipped = k.skipped + excluded.skipped,
    cancelled = k.cancelled + excluded.cancelled,
    attempts = k.attempts + excluded.attempts, cost = k.cost + excluded.cost,
    talk_seconds = k.talk_seconds + excluded.talk_seconds;
end $$;
