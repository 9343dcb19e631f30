-- transaction: per statement
-- Each batch of messages asks which types the account's own endpoints receive, of which it has at most 50. Beside 43,000
-- endpoints of its campaigns, the look-up took 50 ms instead of 0.1.
create index concurrently if not exists callback_endpoints_of_accounts on callback_endpoints (account_id)
  where kind = 'account' and deleted_at is null;
-- The overview and the metrics read the failing ones. Few are.
create index concurrently if not exists callback_endpoints_failing on callback_endpoints (account_id, id)
  where deleted_at is null and (enabled and failing_since is not null or disabled_reason in ('failing', 'gone'));
