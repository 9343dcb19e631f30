-- transaction: per statement
-- Endpoints failed on after their last delivery was given up, and the next failure disabled them.
update callback_endpoints set failing_since = null
  where enabled and failing_since is not null and work_at is null and batch_of(callback_endpoints);
