-- transaction: per statement
-- A page of voice files has active ones only, however many are archived.
create index concurrently if not exists voice_files_active on voice_files (account_id, id) where active;
