-- Since when the account's oldest expired recording is due to be deleted, as of the last visit of retention. Null if none was
-- left. recordings_due_at is the time of the next visit, which each failed deletion postpones.
alter table accounts add column recordings_overdue_since timestamptz;
