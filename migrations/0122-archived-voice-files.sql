-- transaction: per statement
-- Finds the archived voice files whose audio is still to be deleted, however many files there are.
create index concurrently if not exists voice_files_archived on voice_files (account_id, updated_at)
  where not active and audio_name is not null;
