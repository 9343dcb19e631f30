-- Returns a call as its node leader needs it: the row, its legs, its plan, the voice campaign's plan and the
-- account's settings. The plan of a campaign's call asks for nothing, because the campaign's plan covers it.
create or replace function call_state(p_account_id bigint, p_call_id bigint) returns jsonb
language sql stable as $$
  select to_jsonb(c) - 'incoming' || jsonb_build_object(
    'channel', c.incoming ->> 'channel',
    'legs', coalesce((
      select jsonb_agg(to_jsonb(l) order by l.id) from call_legs l
      where l.account_id = p_account_id and l.call_id = p_call_id), '[]'),
    'plan', coalesce(to_jsonb(p), '{"policy_applied": "hangup", "agent_retry_count": 0, "max_retry": 0,
      "retry_after_minutes": 0, "enable_chat": false, "from_group_id": null, "agent_not_pick_group_id": null,
      "extension_for_transfer": null, "extension_for_dis": null, "auto_block_minutes": null, "source": null,
      "remark": null, "reference": null, "callback_method": null}'),
    'voice', case when v.id is not null then v.plan::jsonb || jsonb_build_object(
      'recipient_id', r.id, 'variables', coalesce(r.variables, '{}'),
      'audio', case when r.audio_name is not null then jsonb_build_object(
        'name', r.audio_name, 'duration_ms', (select k.duration_ms from voice_audio k
          where k.account_id = p_account_id and k.name = r.audio_name)) end,
      'attempts_max', 1 + v.max_retry, 'callbacks', r.callbacks,
      'retry_after_minutes', v.retry_after_minutes, 'crm_workspace_id', v.crm_workspace_id)
      when c.incoming is not null then jsonb_build_object('content', c.incoming -> 'content', 'opt_out_key', null,
        'answering_machine', 'off', 'recipient_id', null, 'variables', '{}'::jsonb, 'audio', null,
        'attempts_max', 1, 'callbacks', 0, 'retry_after_minutes', 0, 'crm_workspace_id', null) end,
    -- Null: the requested caller ID may not be shown. A campaign's calls keep theirs as from_number.
    'caller_id', case when v.id is null then (
      select case
        when c.cli_number is null then coalesce(default_caller_id(p_account_id, t),
          case when allows_caller_id(p_account_id, t, c.from_number) then c.from_number end, '0')
        when allows_caller_id(p_account_id, t, c.cli_number) then c.cli_number end
      from trunks t where t.id = c.trunk_id) else c.from_number end,
    'contact_time_zones', coalesce((
      select jsonb_agg(distinct t.time_zone) from contacts t
      where t.account_id = p_account_id and t.phone_e164 = '+' || c.to_phone and t.time_zone is not null), '[]'),
    'settings', jsonb_build_object(
      'country_code', a.country_code, 'time_zone', a.time_zone, 'night_calling', a.night_calling,
      'calling_from', a.calling_from, 'calling_to', a.calling_to, 'recorded', a.calls_recorded,
      'agent_ring_seconds', a.agent_ring_seconds, 'customer_ring_seconds', a.customer_ring_seconds,
      'talk_minutes_max', a.talk_minutes_max,
      'destinations_allowed', a.call_destinations_allowed, 'destinations', a.call_destinations,
      'accept_audio', (
        select jsonb_build_object('name', f.audio_name, 'duration_ms', f.duration_ms) from voice_files f
        where f.account_id = p_account_id and f.id = a.accept_voice_file_id),
      'busy_audio', (
        select jsonb_build_object('name', f.audio_name, 'duration_ms', f.duration_ms) from voice_files f
        where f.account_id = p_account_id and f.id = a.busy_voice_file_id),
      'pulse_seconds', coalesce(c.pulse_seconds, a.call_pulse_seconds),
      -- The account may have lost the feature since.
      'allowed', case when v.id is null then 'calls' else 'voice' end = any (a.features)))
  from calls c
  left join click_to_calls p on p.account_id = p_account_id and p.campaign_id = c.campaign_id
  left join voice_campaigns v on v.account_id = p_account_id and v.id = c.campaign_id
  left join voice_recipients r on r.account_id = p_account_id and r.campaign_id = c.campaign_id
    and r.id = c.recipient_id
  join accounts a on a.account_id = p_account_id
  where c.account_id = p_account_id and c.id = p_call_id
$$;
