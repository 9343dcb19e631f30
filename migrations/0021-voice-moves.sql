-- What leaders do to a voice campaign's calls and recipients, a statement each.

-- As before, and of a campaign's call what its campaign does. A click-to-call's plan is what was asked for; a
-- campaign's call has one in which nothing is asked for that the campaign does itself.
create or replace function call_state(p_account_id bigint, p_call_id bigint) returns jsonb
language sql stable as $$
  select to_jsonb(c) || jsonb_build_object(
    'legs', coalesce((
      select jsonb_agg(to_jsonb(l) order by l.id) from call_legs l
      where l.account_id = p_account_id and l.call_id = p_call_id), '[]'),
    'plan', coalesce(to_jsonb(p), '{"policy_applied": "hangup", "agent_retry_count": 0, "max_retry": 0,
      "retry_after_minutes": 0, "enable_chat": false, "from_group_id": null, "agent_not_pick_group_id": null,
      "extension_for_transfer": null, "extension_for_dis": null, "auto_block_minutes": null, "source": null,
      "remark": null, "reference": null, "callback_method": null}'),
    'voice', case when v.id is not null then v.plan::jsonb || jsonb_build_object(
      'recipient_id', r.id, 'variables', coalesce(r.variables, '{}'),
      'clip', case when r.clip_name is not null then jsonb_build_object(
        'name', r.clip_name, 'duration_ms', (select k.duration_ms from voice_clips k
          where k.account_id = p_account_id and k.name = r.clip_name)) end,
      'attempts_max', 1 + v.max_retry, 'callbacks', r.callbacks,
      'retry_after_minutes', v.retry_after_minutes, 'crm_workspace_id', v.crm_workspace_id) end,
    'settings', jsonb_build_object(
      'country_code', a.country_code, 'time_zone', a.time_zone, 'night_calling', a.night_calling,
      'calling_from', a.calling_from, 'calling_to', a.calling_to, 'recorded', a.calls_recorded,
      'agent_ring_seconds', a.agent_ring_seconds, 'customer_ring_seconds', a.customer_ring_seconds,
      'pulse_seconds', coalesce(c.pulse_seconds, a.call_pulse_seconds),
      -- The feature may have been taken from it since it submitted the call.
      'allowed', case when v.id is null then 'calls' else 'voice' end = any (a.features)))
  from calls c
  left join click_to_calls p on p.account_id = p_account_id and p.campaign_id = c.campaign_id
  left join voice_campaigns v on v.account_id = p_account_id and v.id = c.campaign_id
  left join voice_recipients r on r.account_id = p_account_id and r.campaign_id = c.campaign_id
    and r.id = c.recipient_id
  join accounts a on a.account_id = p_account_id
  where c.account_id = p_account_id and c.id = p_call_id
$$;

-- Moves n recipients between two states' counts (null: from nowhere), and adds what calls came to. To be
-- the last thing a transaction does. Slot 0 is the leaders' claims, 1-8 ends of calls, 9 controls and intake.
create function count_voice(
  p_account_id bigint, p_campaign_id bigint, p_slot int, p_from text, p_to text, p_n int,
  p_attempts int default 0, p_cost bigint default 0, p_talk_seconds bigint default 0
) returns void
language sql as $$
  insert into voice_counts as k (account_id, campaign_id, slot, unspoken, waiting, calling, answered,
    machine, busy, no_answer, failed, suppressed, cancelled, attempts, cost, talk_seconds)
  select p_account_id, p_campaign_id, p_slot,
    sum(d.n) filter (where d.state = 'unspoken'), sum(d.n) filter (where d.state = 'waiting'),
    sum(d.n) filter (where d.state = 'calling'), sum(d.n) filter (where d.state = 'answered'),
    sum(d.n) filter (where d.state = 'machine'), sum(d.n) filter (where d.state = 'busy'),
    sum(d.n) filter (where d.state = 'no_answer'), sum(d.n) filter (where d.state = 'failed'),
    sum(d.n) filter (where d.state = 'suppressed'), sum(d.n) filter (where d.state = 'cancelled'),
    p_attempts, p_cost, p_talk_seconds
  from (
    -- Each state once, so that no sum is null.
    select unnest(array['unspoken', 'waiting', 'calling', 'answered', 'machine', 'busy', 'no_answer',
      'failed', 'suppressed', 'cancelled']) as state, 0 as n
    union all values (p_from, -p_n), (p_to, p_n)) d
  on conflict (account_id, campaign_id, slot) do update set
    unspoken = k.unspoken + excluded.unspoken, waiting = k.waiting + excluded.waiting,
    calling = k.calling + excluded.calling, answered = k.answered + excluded.answered,
    machine = k.machine + excluded.machine, busy = k.busy + excluded.busy,
    no_answer = k.no_answer + excluded.no_answer, failed = k.failed + excluded.failed,
    suppressed = k.suppressed + excluded.suppressed, cancelled = k.cancelled + excluded.cancelled,
    attempts = k.attempts + excluded.attempts, cost = k.cost + excluded.cost,
    talk_seconds = k.talk_seconds + excluded.talk_seconds
$$;

-- Campaigns with somebody to call just now over one of the trunks, and when their accounts may call; in
-- turn of their accounts, so that a thousand of one hide no other's.
create function find_dialable(p_trunk_ids bigint[], p_now timestamptz)
returns table (account_id bigint, campaign_id bigint, trunk_id bigint, is_test boolean,
  time_zone text, night_calling boolean, calling_from time, calling_to time)
language sql stable as $$
  select v.account_id, v.id, v.trunk_id, v.is_test,
    a.time_zone, a.night_calling, a.calling_from, a.calling_to
  from voice_campaigns v
  join accounts a on a.account_id = v.account_id
  where v.trunk_id = any (p_trunk_ids) and v.state = 'running' and 'voice' = any (a.features)
    and not exists (
      select from voice_holds h where h.account_id = v.account_id and h.campaign_id = v.id)
    -- A look at the first entry of its index.
    and exists (
      select from voice_recipients r
      where r.account_id = v.account_id and r.campaign_id = v.id and r.state = 'waiting' and r.due_at <= p_now)
  order by row_number() over (partition by v.account_id order by v.is_test desc, v.id), v.account_id
  limit 1000
$$;

-- Takes recipients who are due into a leader's hands: a call each, its leg about to be dialled, a credit
-- reserved. Whoever must not be called any more is passed over for good. Without credit nobody is taken,
-- and the campaign is held once no call of the account's campaigns is under way, for what they have reserved
-- mostly comes back. The answer is dialled on the strength of this alone: it waits for the disk.
create function claim_recipients(
  p_account_id bigint, p_campaign_id bigint, p_node_id bigint, p_fence bigint, p_take int,
  p_caller_id text, p_now timestamptz
) returns table (call jsonb)
language plpgsql as $$
declare
  v_campaign voice_campaigns;
  v_suppressed int[];
  v_wanted int[];
  v_available bigint;
  v_call_ids bigint[];
begin
  -- Whoever pauses or cancels it waits for this, and this for them.
  select * into v_campaign from voice_campaigns v
    where v.account_id = p_account_id and v.id = p_campaign_id and v.state = 'running'
      and not exists (
        select from voice_holds h where h.account_id = p_account_id and h.campaign_id = p_campaign_id)
    for share;
  if not found then return; end if;

  with next as materialized (
    select r.id, r.phone from voice_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.state = 'waiting'
      and r.due_at <= p_now
    order by r.due_at, r.id limit p_take
    for update skip locked
  ), judged as (
    select n.id, exists (
      select from suppressions s
      where s.account_id = p_account_id and s.phone = n.phone and s.channel in ('all', 'voice')
        and (s.expires_at is null or s.expires_at > p_now)) as suppressed
    from next n
  )
  select coalesce(array_agg(j.id order by j.id) filter (where j.suppressed), '{}'),
    coalesce(array_agg(j.id order by j.id) filter (where not j.suppressed), '{}')
  into v_suppressed, v_wanted from judged j;

  update voice_recipients r set state = 'suppressed', finished_at = p_now
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_suppressed);

  if cardinality(v_wanted) > 0 then
    select b.available into v_available from credit_balances b
      where b.account_id = p_account_id and b.kind = 'call' for update;
    v_wanted := v_wanted[1:least(coalesce(v_available, 0), cardinality(v_wanted))];
    if cardinality(v_wanted) = 0 then
      insert into voice_holds (account_id, campaign_id, reason, set_at)
        select p_account_id, p_campaign_id, 'credit', p_now
        where not exists (
          select from voice_recipients r where r.account_id = p_account_id and r.state = 'calling')
        on conflict do nothing;
      if found then
        insert into events (account_id, type, occurred_at, data) values (p_account_id,
          'voice.campaign.paused', p_now, json_build_object('campaign_id', p_campaign_id,
            'id', v_campaign.public_id, 'name', v_campaign.name, 'paused_reason', 'credit'));
      end if;
    else
      update credit_balances b set available = b.available - cardinality(v_wanted)
        where b.account_id = p_account_id and b.kind = 'call';
      v_call_ids := place_recipients(v_campaign, v_wanted, p_node_id, p_fence, p_caller_id, p_now);
    end if;
  end if;

  if cardinality(v_suppressed) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'suppressed', cardinality(v_suppressed));
  end if;
  if cardinality(v_call_ids) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'calling', cardinality(v_call_ids),
      cardinality(v_call_ids));
  end if;
  return query select call_state(p_account_id, i) from unnest(v_call_ids) i;
end $$;

create function place_recipients(
  p_campaign voice_campaigns, p_recipients int[], p_node_id bigint, p_fence bigint, p_caller_id text,
  p_now timestamptz
) returns bigint[]
language sql as $$
  with placed as materialized (
    select r.id, r.number, r.phone, r.due_at, r.attempts + 1 as attempt,
      nextval(pg_get_serial_sequence('calls', 'id')) as call_id,
      nextval(pg_get_serial_sequence('credit_reservations', 'id')) as reservation_id
    from voice_recipients r
    where r.account_id = p_campaign.account_id and r.campaign_id = p_campaign.id and r.id = any (p_recipients)
  ), taken as (
    update voice_recipients r set state = 'calling', attempts = p.attempt, call_id = p.call_id
    from placed p
    where r.account_id = p_campaign.account_id and r.campaign_id = p_campaign.id and r.id = p.id
  ), reserved as (
    insert into credit_reservations (account_id, id, kind, subject, created_at)
    select p_campaign.account_id, p.reservation_id, 'call', 'call:' || p.call_id, p_now from placed p
  ), paid as (
    insert into credit_transfers (account_id, kind, type, from_book, to_book, amount, reservation_id, at)
    select p_campaign.account_id, 'call', 'reserve', 'available', 'reserved', 1, p.reservation_id, p_now
    from placed p
  ), called as (
    insert into calls (account_id, id, campaign_id, attempt, node_id, trunk_id, fence, stage, status,
      from_number, to_number, to_phone, due_at, queued_at, initiated_at, reservation_id, reserved,
      pulse_seconds, recipient_id)
    select p_campaign.account_id, p.call_id, p_campaign.id, p.attempt, p_node_id, p_campaign.trunk_id,
      p_fence, 'customer', 'ringing', p_caller_id, p.number, p.phone, p.due_at, p_now, p_now,
      p.reservation_id, 1, a.call_pulse_seconds, p.id
    from placed p join accounts a on a.account_id = p_campaign.account_id
  ), rung as (
    insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at)
    select p_campaign.account_id, p.call_id, 1, 'customer', p.phone, true, 'dialing', 'queued', p_now
    from placed p
  ), told as (
    select p.call_id, json_build_object('call_id', p.call_id, 'campaign_id', p_campaign.id,
      'reference', null, 'attempt', p.attempt, 'from_number', p_caller_id, 'to_number', p.number,
      'status', 'ringing') as data
    from placed p
  ), reported as (
    insert into call_events (account_id, call_id, type, at, data)
    select p_campaign.account_id, t.call_id, 'call.initiated', p_now, t.data from told t
  ), announced as (
    insert into events (account_id, type, occurred_at, data)
    select p_campaign.account_id, 'call.initiated', p_now, t.data from told t
  )
  select coalesce(array_agg(p.call_id order by p.call_id), '{}') from placed p
$$;

-- As before, with what a campaign's call has beside.
create or replace function write_call(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_call jsonb, p_legs jsonb, p_events jsonb,
  p_durable boolean, p_now timestamptz
) returns boolean
language plpgsql as $$
declare
  v_call calls;
  v_new calls;
  v_ends boolean;
  v_pulses int;
begin
  if not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select * into v_call from calls c
    where c.account_id = p_account_id and c.id = p_call_id and c.fence = p_fence for no key update;
  v_new := jsonb_populate_record(v_call, p_call);
  v_new.reserved := v_call.reserved;
  if v_new.steps <= v_call.steps then
    return false;
  end if;
  if v_call.id is null or v_call.stage = 'ended'
    or call_stage_rank(v_new.stage) < call_stage_rank(v_call.stage) then
    raise exception 'the call % of account % is another leader''s, or over', p_call_id, p_account_id
      using errcode = 'TL001';
  end if;
  v_ends := v_new.stage = 'ended';
  if v_ends then
    v_pulses := v_new.cost;
    v_new.cost := settle_call(v_new, p_now);
    -- What could not be paid is not billed, and nobody is told that it was.
    if v_new.cost < v_pulses then
      v_new.billed_seconds := v_new.billed_seconds / v_pulses * v_new.cost;
      p_events := (
        select jsonb_agg(case when e ->> 'type' = 'call.completed'
          then jsonb_set(e, '{data,billed_seconds}', to_jsonb(v_new.billed_seconds)) else e end)
        from jsonb_array_elements(p_events) e);
    end if;
  end if;

  insert into call_legs as l
  select n.* from jsonb_populate_recordset(null::call_legs, p_legs) n
  on conflict (account_id, call_id, id) do update set
    state = excluded.state, status = excluded.status, ringing_at = excluded.ringing_at,
    answered_at = excluded.answered_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
    cause = excluded.cause, sip_status = excluded.sip_status;

  with told as (
    insert into call_events (account_id, call_id, type, at, data)
    select p_account_id, p_call_id, e ->> 'type', (e ->> 'at')::timestamptz, e -> 'data'
    from jsonb_array_elements(p_events) e
  )
  insert into events (account_id, type, occurred_at, data)
  select p_account_id, e ->> 'type', (e ->> 'at')::timestamptz, e -> 'data'
  from jsonb_array_elements(p_events) e;

  if v_ends then
    delete from call_pairs p
      where p.account_id = p_account_id and p.from_number = v_new.from_number
        and p.to_phone = v_new.to_phone and p.call_id = p_call_id;
  end if;

  update calls c set
    stage = v_new.stage, status = v_new.status, initiated_at = v_new.initiated_at,
    ringing_at = v_new.ringing_at, answered_at = v_new.answered_at, ended_at = v_new.ended_at,
    disposition = v_new.disposition, ended_reason = v_new.ended_reason, ended_by = v_new.ended_by,
    answered_by = v_new.answered_by, hangup_cause = v_new.hangup_cause,
    sip_status = v_new.sip_status, dtmf = v_new.dtmf, ring_seconds = v_new.ring_seconds,
    talk_seconds = v_new.talk_seconds, billed_seconds = v_new.billed_seconds, cost = v_new.cost,
    recording_state = v_new.recording_state, retry_at = v_new.retry_at, steps = v_new.steps,
    position = v_new.position, collected = v_new.collected, lead_fields = v_new.lead_fields,
    callback_at = v_new.callback_at, opted_out = v_new.opted_out
  where c.account_id = p_account_id and c.id = p_call_id;
  return true;
end $$;

-- Writes a step of a campaign's call: what write_call does, and with it the way through the menu, what was
-- said, the messages left; at the end, what becomes of its recipient (p_recipient: life/recipient-after.ts).
create function write_voice_call(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_call jsonb, p_legs jsonb, p_events jsonb,
  p_durable boolean, p_now timestamptz, p_steps jsonb, p_said jsonb, p_messages jsonb, p_recipient jsonb
) returns boolean
language plpgsql as $$
declare
  v_call calls;
  v_state text;
begin
  if not write_call(p_account_id, p_call_id, p_fence, p_call, p_legs, p_events, p_durable, p_now) then
    return false;
  end if;
  insert into call_menu_steps (account_id, call_id, campaign_id, recipient_id, node, key, at)
    select p_account_id, p_call_id, c.campaign_id, c.recipient_id, s ->> 'node', s ->> 'key',
      (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_steps) s
    join calls c on c.account_id = p_account_id and c.id = p_call_id;
  insert into call_transcripts (account_id, call_id, who, text, at)
    select p_account_id, p_call_id, s ->> 'who', s ->> 'text', (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_said) s;
  insert into call_messages as m (account_id, call_id, recording, node, state, at)
    select p_account_id, p_call_id, s ->> 'recording', s ->> 'node', s ->> 'state',
      (s ->> 'at')::timestamptz
    from jsonb_array_elements(p_messages) s
    on conflict (account_id, call_id, recording) do update set state = excluded.state;
  if p_recipient is null then return true; end if;

  select * into v_call from calls c where c.account_id = p_account_id and c.id = p_call_id;
  v_state := p_recipient ->> 'state';
  if v_state = 'waiting' then
    -- Of a campaign that is being cancelled nobody waits any more.
    perform from voice_campaigns v
      where v.account_id = p_account_id and v.id = v_call.campaign_id and v.state = 'running' for share;
    if not found then v_state := p_recipient ->> 'otherwise'; end if;
  end if;
  update voice_recipients r set state = v_state,
      due_at = case when v_state = 'waiting' then (p_recipient ->> 'due_at')::timestamptz else r.due_at end,
      finished_at = case when v_state = 'waiting' then null else v_call.ended_at end,
      callbacks = r.callbacks + case when v_state = 'waiting' and (p_recipient ->> 'callback')::boolean
        then 1 else 0 end,
      attempts = r.attempts - case when (p_recipient ->> 'uncounted')::boolean then 1 else 0 end
    where r.account_id = p_account_id and r.campaign_id = v_call.campaign_id
      and r.id = v_call.recipient_id and r.state = 'calling' and r.call_id = p_call_id;
  if not found then
    raise exception 'the recipient of call % of account % is not being called', p_call_id, p_account_id;
  end if;
  perform count_voice(p_account_id, v_call.campaign_id, 1 + (p_call_id % 8)::int, 'calling', v_state, 1,
    case when (p_recipient ->> 'uncounted')::boolean then -1 else 0 end, v_call.cost, coalesce(v_call.talk_seconds, 0));
  return true;
end $$;
