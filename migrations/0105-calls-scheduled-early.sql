-- transaction: per statement
-- For customer_attempts: the calls that were queued more than a month before they are due.
create index concurrently if not exists calls_scheduled_early on calls (account_id, to_phone, due_at)
  where due_at - queued_at > interval '30 days';
