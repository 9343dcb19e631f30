-- Writes a call's transition under its leader's fencing token: the row, the changed legs, the events. A stage
-- never goes back. When the call ends, frees its customer and settles its credit: captures the cost, or what was
-- reserved when the balance cannot cover the rest, and releases what is left.
-- p_durable: wait for the disk; needed only when the transition starts or ends something.
-- An opt-out stays: it may have been recorded without the leader (record-late-opt-out.ts).
-- Returns false when this transition was already written, because its first acknowledgement was lost.
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
  v_other bigint;
begin
  if not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select * into v_call from calls c
    where c.account_id = p_account_id and c.id = p_call_id and c.fence = p_fence for no key update;
  v_new := jsonb_populate_record(v_call, p_call);
  v_new.reserved := v_call.reserved;
  v_new.topped_up := v_call.topped_up;
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
    -- Bills, and reports in the event, only the pulses that were paid.
    if v_new.cost < v_pulses then
      v_new.billed_seconds := v_new.billed_seconds / v_pulses * v_new.cost;
      p_events := (
        select jsonb_agg(case when e ->> 'type' = 'call.completed'
          then jsonb_set(e, '{data,billed_seconds}', to_jsonb(v_new.billed_seconds)) else e end)
        from jsonb_array_elements(p_events) e);
    end if;
  end if;

  insert into call_legs as l (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at,
      ringing_at, answered_at, ended_at, outcome, cause, sip_status, blocker)
  select p_account_id, n.call_id, n.id, n.role, n.number, n.on_trunk, n.state, n.status, n.initiated_at, n.ringing_at,
    n.answered_at, n.ended_at, n.outcome, n.cause, n.sip_status, n.blocker
  from jsonb_populate_recordset(null::call_legs, p_legs) n
  on conflict (account_id, call_id, id) do update set
    state = excluded.state, status = excluded.status, ringing_at = excluded.ringing_at,
    answered_at = excluded.answered_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
    cause = excluded.cause, sip_status = excluded.sip_status, blocker = excluded.blocker;

  with inserted_call_events as (
    insert into call_events (account_id, call_id, type, at, data)
    select p_account_id, p_call_id, e ->> 'type', (e ->> 'at')::timestamptz, e -> 'data'
    from jsonb_array_elements(p_events) e
  )
  insert into events (account_id, type, occurred_at, data)
  select p_account_id, e ->> 'type', (e ->> 'at')::timestamptz, e -> 'data'
  from jsonb_array_elements(p_events) e;

  if v_ends then
    delete from live_customers p
      where p.account_id = p_account_id and p.phone_key = phone_key(v_new.to_phone) and p.call_id = p_call_id;
    -- An incoming call took the customer over from a call to them that may last longer. One that is locked is not waited
    -- for, because it may wait for the balance: its customer is then not protected.
    if found and v_new.direction = 'inbound' then
      select c.id into v_other from calls c
        where c.account_id = p_account_id and c.to_phone = any (phone_spellings(v_new.to_phone))
          and c.queued_at > p_now - interval '32 days'
          and c.stage not in ('queued', 'ended') and c.id <> p_call_id
        order by c.queued_at desc limit 1
        for share skip locked;
      if v_other is null then
        select c.id into v_other from calls c
          where c.account_id = p_account_id and c.to_phone = any (phone_spellings(v_new.to_phone))
            and c.due_at - c.queued_at > interval '30 days'
            and c.stage not in ('queued', 'ended') and c.id <> p_call_id
          order by c.due_at desc limit 1
          for share skip locked;
      end if;
      if v_other is not null then
        insert into live_customers (account_id, phone_key, call_id)
          values (p_account_id, phone_key(v_new.to_phone), v_other)
          on conflict do nothing;
      end if;
    end if;
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
    callback_at = v_new.callback_at, opted_out = c.opted_out or v_new.opted_out, abandoned = v_new.abandoned,
    seen_at = v_new.seen_at
  where c.account_id = p_account_id and c.id = p_call_id;
  return true;
end $$;
