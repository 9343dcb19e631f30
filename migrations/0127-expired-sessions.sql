-- transaction: per statement
-- Finds the sessions that retention deletes. Their expiry never changes.
create index concurrently if not exists tokens_by_session_expiry on tokens (account_id, expires_at)
  where kind = 'session';
