-- Returns a menu as calls play it, with the current audio of its voice files; null while one of them is not ready or
-- has no audio, as a file with only a script.
create or replace function menu_content(p_account_id bigint, p_graph jsonb) returns jsonb
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_ids bigint[] := array(
    select (e.value -> f.field ->> 'voice_file_id')::bigint
    from jsonb_each(p_graph -> 'nodes') e
    cross join (values ('prompt'), ('invalid_prompt')) f (field)
    where e.value -> f.field ? 'voice_file_id');
  v_prompts jsonb;
begin
  select coalesce(jsonb_object_agg(v.id::text, jsonb_build_object('audio',
    jsonb_build_object('name', v.audio_name, 'duration_ms', v.duration_ms))), '{}') into v_prompts
  from voice_files v
  where v.account_id = p_account_id and v.id = any (v_ids) and v.status = 'ready' and v.audio_name is not null;
  if exists (select from unnest(v_ids) i where (v_prompts ? i::text) is not true) then return null; end if;
  return jsonb_build_object('call_type', 'obd_ivr', 'menu', jsonb_build_object('start', p_graph -> 'start', 'nodes', (
    select jsonb_object_agg(e.key, e.value || (
      select coalesce(jsonb_object_agg(f.field, v_prompts -> (e.value -> f.field ->> 'voice_file_id')), '{}')
      from (values ('prompt'), ('invalid_prompt')) f (field)
      where e.value -> f.field ? 'voice_file_id'))
    from jsonb_each(p_graph -> 'nodes') e)));
end $$;
