-- transaction: per statement
-- Finds the hours that retention deletes: each batch read all counts of the account, of one phone each (0.1 s at 200,000).
-- The hour of a count never changes, so its updates stay HOT.
create index concurrently if not exists call_usage_by_hour on call_usage (account_id, hour);
