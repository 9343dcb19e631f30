-- Writes a transition of a voice campaign's call: what write_call does, with menu steps, transcript and
-- messages left; at the end also the recipient's new state, last result and time zones (p_recipient). The campaign
-- lists the zones too, because find_dialable looks up only its lists.
create or replace function write_voice_call(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_call jsonb, p_legs jsonb, p_events jsonb,
  p_durable boolean, p_now timestamptz, p_steps jsonb, p_said jsonb, p_messages jsonb, p_recipient jsonb
) returns boolean
language plpgsql as $$
declare
  v_call calls;
  v_campaign_id bigint := p_call ->> 'campaign_id';
  v_state text := p_recipient ->> 'state';
  v_time_zones text := p_recipient ->> 'time_zones';
  v_due_at timestamptz := p_recipient ->> 'due_at';
  v_callbacks int := coalesce((p_recipient ->> 'callback')::boolean, false)::int;
  v_uncounted int := coalesce((p_recipient ->> 'uncounted')::boolean, false)::int;
  v_last_result text;
begin
  if v_state = 'waiting' then
    -- Claims, too, lock the campaign before the balance.
    if v_time_zones is not null then
      update voice_campaigns v set time_zones = v.time_zones || v_time_zones
        where v.account_id = p_account_id and v.id = v_campaign_id and v.state = 'running'
          and v_time_zones <> all (v.time_zones);
    end if;
    -- No recipient of a cancelled campaign waits any more.
    perform from voice_campaigns v
      where v.account_id = p_account_id and v.id = v_campaign_id and v.state = 'running' for share;
    if not found then
      v_state := p_recipient ->> 'otherwise';
      -- Nor does a call that was not dialed change the result of those before.
      if v_uncounted = 1 then
        select r.last_result into v_last_result from calls c
          join voice_recipients r on r.account_id = c.account_id and r.campaign_id = c.campaign_id
            and r.id = c.recipient_id
          where c.account_id = p_account_id and c.id = p_call_id;
        v_state := coalesce(v_last_result, v_state);
      end if;
      -- No attempt follows.
      p_call := jsonb_set(p_call, '{retry_at}', 'null');
      p_events := (
        select jsonb_agg(case when e ->> 'type' = 'call.completed'
          then jsonb_set(e, '{data,retry_at}', 'null') else e end)
        from jsonb_array_elements(p_events) e);
    end if;
  end if;
  if not write_call(p_account_id, p_call_id, p_fence, p_call, p_legs, p_events, p_durable, p_now) then
    return false;
  end if;
  if p_recipient is not null or p_steps <> '[]' then
    select * into v_call from calls c where c.account_id = p_account_id and c.id = p_call_id;
  end if;
  insert into call_menu_steps (account_id, call_id, campaign_id, recipient_id, node, key, at)
    select p_account_id, p_call_id, v_call.campaign_id, v_call.recipient_id, s ->> 'node', s ->> 'key',
      (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_steps) s;
  insert into call_transcripts (account_id, call_id, who, text, at)
    select p_account_id, p_call_id, s ->> 'who', s ->> 'text', (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_said) s;
  insert into call_messages as m (account_id, call_id, recording, node, state, at)
    select p_account_id, p_call_id, s ->> 'recording', s ->> 'node', s ->> 'state',
      (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_messages) s
    on conflict (account_id, call_id, recording) do update set state = excluded.state;
  if p_recipient is null then return true; end if;

  update voice_recipients r set state = v_state,
      skip_reason = case when v_state = 'skipped' then v_call.ended_reason end,
      due_at = case when v_state = 'waiting' then v_due_at else r.due_at end,
      time_zones = coalesce(v_time_zones, r.time_zones),
      last_result = case when v_state = 'waiting' and v_uncounted = 0 then p_recipient ->> 'otherwise'
        else r.last_result end,
      finished_at = case when v_state = 'waiting' then null else v_call.ended_at end,
      callbacks = r.callbacks + case when v_state = 'waiting' then v_callbacks else 0 end,
      -- A call that was not dialed has placed none.
      callbacks_placed = case when v_uncounted = 1 then r.callbacks_placed else r.callbacks end,
      attempts = r.attempts - v_uncounted
    where r.account_id = p_account_id and r.campaign_id = v_call.campaign_id
      and r.id = v_call.recipient_id and r.state = 'calling' and r.call_id = p_call_id;
  if not found then
    raise exception 'the recipient of call % of account % is not being called', p_call_id, p_account_id;
  end if;
  perform count_voice(p_account_id, v_call.campaign_id, 1 + (p_call_id % 8)::int, 'calling', v_state, 1,
    -v_uncounted, v_call.cost, coalesce(v_call.talk_seconds, 0));
  -- count_voice has locked the slot.
  if v_call.answered_at is not null and v_call.answered_by <> 'machine' then
    update voice_counts k set live_answers = k.live_answers + 1, abandoned = k.abandoned + v_call.abandoned::int
      where k.account_id = p_account_id and k.campaign_id = v_call.campaign_id
        and k.slot = 1 + (p_call_id % 8)::int;
  end if;
  return true;
end $$;
