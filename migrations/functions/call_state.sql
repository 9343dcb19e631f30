-- Returns a call as its node leader needs it: the row, its legs, its plan, the voice campaign's plan and the
-- account's settings. The plan of a campaign's call asks for nothing, because the campaign's plan covers it. If a
-- user has retried the recipient, the call is the last attempt: no automatic redial follows.
create or replace function call_state(p_account_id bigint, p_call_id bigint) returns jsonb
language plpgsql stable
set enable_seqscan = off
as $$
declare
  v_call calls;
  v_campaign voice_campaigns;
  v_recipient voice_recipients;
  v_audio_ms int;
  v_trunk trunks;
  v_caller_id text;
  v_phones text[];
begin
  select * into v_call from calls c where c.account_id = p_account_id and c.id = p_call_id;
  select * into v_campaign from voice_campaigns v where v.account_id = p_account_id and v.id = v_call.campaign_id;
  -- Null: the requested caller ID may not be shown. A campaign's calls keep theirs as from_number.
  if found then
    v_caller_id := v_call.from_number;
  else
    select * into v_trunk from trunks t where t.id = v_call.trunk_id;
    if found then
      v_caller_id := case
        when v_call.cli_number is null then coalesce(default_caller_id(p_account_id, v_trunk),
          case when allows_caller_id(p_account_id, v_trunk, v_call.from_number) then v_call.from_number end, '0')
        when allows_caller_id(p_account_id, v_trunk, v_call.cli_number) then trunk_spelling(v_trunk, v_call.cli_number) end;
    end if;
  end if;
  -- By statements of their own: joined by a key that is null, Citus refuses the query.
  if v_call.recipient_id is not null then
    select * into v_recipient from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_call.campaign_id and r.id = v_call.recipient_id;
  end if;
  if v_recipient.audio_name is not null then
    select k.duration_ms into v_audio_ms from voice_audio k
      where k.account_id = p_account_id and k.name = v_recipient.audio_name;
  end if;
  -- The contact's phone as given: the index contacts_by_time_zone has no key.
  v_phones := array(select '+' || s.phone from unnest(phone_spellings(v_call.to_phone)) s (phone));
  return (select to_jsonb(v_call) - 'incoming' || jsonb_build_object(
    'channel', v_call.incoming ->> 'channel',
    'legs', coalesce((
      select jsonb_agg(to_jsonb(l) order by l.id) from call_legs l
      where l.account_id = p_account_id and l.call_id = p_call_id), '[]'),
    'plan', coalesce(to_jsonb(p), '{"policy_applied": "hangup", "agent_retry_count": 0, "max_retry": 0,
      "retry_after_minutes": 0, "enable_chat": false, "from_group_id": null, "agent_not_pick_group_id": null,
      "extension_for_transfer": null, "extension_for_dis": null, "auto_block_minutes": null, "source": null,
      "remark": null, "reference": null, "callback_method": null}'),
    'voice', case when v_campaign.id is not null then v_campaign.plan::jsonb || jsonb_build_object(
      'recipient_id', v_recipient.id, 'variables', coalesce(v_recipient.variables, '{}'),
      'audio', case when v_recipient.audio_name is not null then jsonb_build_object(
        'name', v_recipient.audio_name, 'duration_ms', v_audio_ms) end,
      'attempts_max', case when v_recipient.retries > 0 then v_call.attempt - v_recipient.callbacks
        else 1 + v_campaign.max_retry end, 'callbacks', v_recipient.callbacks,
      'retry_after_minutes', v_campaign.retry_after_minutes, 'crm_workspace_id', v_campaign.crm_workspace_id)
      when v_call.incoming is not null then jsonb_build_object('content', v_call.incoming -> 'content', 'opt_out_key', null,
        'answering_machine', 'off', 'recipient_id', null, 'variables', '{}'::jsonb, 'audio', null,
        'attempts_max', 1, 'callbacks', 0, 'retry_after_minutes', 0, 'crm_workspace_id', null) end,
    'caller_id', v_caller_id,
    'contact_time_zones', coalesce((
      select jsonb_agg(distinct t.time_zone) from contacts t
      where t.account_id = p_account_id and t.phone_e164 = any (v_phones) and t.time_zone is not null), '[]'),
    -- Of a click-to-call: its automatic retries that were claimed after the window had closed.
    'unplaced_attempts', case when v_campaign.id is null and v_call.attempt > 1 then (
      -- As a filter, so that only the campaign selects the index.
      select count(*) filter (where c.ended_reason = 'night_window' and c.initiated_at is null) from calls c
      where c.account_id = p_account_id and c.campaign_id = v_call.campaign_id) else 0 end,
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
      'pulse_seconds', coalesce(v_call.pulse_seconds, a.call_pulse_seconds),
      -- The account may have lost the feature since.
      'allowed', case when v_campaign.id is null then 'calls' else 'voice' end = any (a.features)))
  from accounts a
  left join click_to_calls p on p.account_id = p_account_id and p.campaign_id = v_call.campaign_id
  where a.account_id = p_account_id and v_call.id is not null);
end $$;
