-- The storage quota of an account, which only an operator changes.
alter table accounts add column storage_megabytes int not null default 50000
  check (storage_megabytes >= 1);
-- The size of the uploaded file, whose rows are stored until they are imported.
alter table lead_imports add column file_bytes bigint not null default 0;
-- Sums an account's audio without reading its rows; see storage_used.
create index voice_audio_sizes on voice_audio (account_id) include (duration_ms);
create index voice_files_uploaded on voice_files (account_id) where upload is not null;
