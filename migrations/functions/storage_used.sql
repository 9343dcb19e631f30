-- Returns the bytes of an account's audio, of uploads that are not decoded yet, and of files that are being
-- imported. Audio has 16 bytes per millisecond (lib/audio/audio.ts). Recordings are stored on their nodes.
create or replace function storage_used(p_account_id bigint) returns bigint
language plpgsql stable as $$
begin
  return coalesce((
      select sum(k.duration_ms) * 16 from voice_audio k where k.account_id = p_account_id), 0)
    + coalesce((
      select sum(octet_length(f.upload)) from voice_files f
      where f.account_id = p_account_id and f.upload is not null), 0)
    + coalesce((
      select sum(i.file_bytes) from lead_imports i
      where i.account_id = p_account_id and i.state = 'processing'), 0);
end $$;
