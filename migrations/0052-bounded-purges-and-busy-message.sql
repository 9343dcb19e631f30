-- When retention next checks whether a campaign endpoint is still used, so that a step checks a batch of endpoints and
-- not all that an account has.
alter table callback_endpoints add column unused_check_at timestamptz not null default 'epoch';
create index callback_endpoints_to_check on callback_endpoints (account_id, unused_check_at)
  where kind = 'campaign' and deleted_at is null and not adopted;

-- The audio for callers who get no agent; null: the built-in message.
alter table accounts add column busy_voice_file_id bigint;
