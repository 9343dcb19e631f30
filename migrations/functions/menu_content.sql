-- Returns a menu as calls play it, with the current audio of its voice files; null while one of them is not ready.
create or replace function menu_content(p_account_id bigint, p_graph jsonb) returns jsonb
language sql stable as $$
  select case when bool_and(n.is_ready) then jsonb_build_object('call_type', 'obd_ivr',
    'menu', jsonb_build_object('start', p_graph -> 'start', 'nodes', jsonb_object_agg(n.name, n.node))) end
  from (
    select e.key as name, e.value || coalesce(jsonb_object_agg(p.field, p.prompt) filter (where p.field is not null), '{}')
        as node, bool_and(p.prompt is not null) filter (where p.field is not null) is not false as is_ready
    from jsonb_each(p_graph -> 'nodes') e
    left join lateral (
      select f.field, (
          select jsonb_build_object('audio', jsonb_build_object('name', v.audio_name, 'duration_ms', v.duration_ms))
          from voice_files v
          where v.account_id = p_account_id and v.status = 'ready'
            and v.id = (e.value -> f.field ->> 'voice_file_id')::bigint) as prompt
      from (values ('prompt'), ('invalid_prompt')) f (field)
      where e.value -> f.field ? 'voice_file_id') p on true
    group by e.key, e.value) n
$$;
