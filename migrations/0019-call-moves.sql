-- What a node's leader does to calls, a statement each.

-- A call as its leader works with it: the row, its legs, what was asked for and what the account wants.
create function call_state(p_account_id bigint, p_call_id bigint) returns jsonb
language sql stable as $$
  select to_jsonb(c) || jsonb_build_object(
    'legs', coalesce((
      select jsonb_agg(to_jsonb(l) order by l.id) from call_legs l
      where l.account_id = p_account_id and l.call_id = p_call_id), '[]'),
    'plan', to_jsonb(p),
    'settings', jsonb_build_object(
      'country_code', a.country_code, 'time_zone', a.time_zone, 'night_calling', a.night_calling,
      'calling_from', a.calling_from, 'calling_to', a.calling_to, 'recorded', a.calls_recorded,
      'agent_ring_seconds', a.agent_ring_seconds, 'customer_ring_seconds', a.customer_ring_seconds,
      'pulse_seconds', coalesce(c.pulse_seconds, a.call_pulse_seconds),
      -- The feature may have been taken from it since it submitted the call.
      'allowed', 'calls' = any (a.features)))
  from calls c
  join click_to_calls p on p.account_id = p_account_id and p.campaign_id = c.campaign_id
  join accounts a on a.account_id = p_account_id
  where c.account_id = p_account_id and c.id = p_call_id
$$;

-- Takes calls that are due to be placed over a trunk of the node, and says what stands against each.
-- Nothing is dialled on the strength of this alone: the write that marks the leg as dialling comes after
-- it in the log and waits for the disk, so this one need not.
create function claim_calls(
  p_account_id bigint, p_node_id bigint, p_trunk_id bigint, p_fence bigint, p_take int, p_now timestamptz
) returns table (call jsonb, suppressed boolean, pair_taken boolean)
language plpgsql as $$
declare
  v_id bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_id in
    with next as materialized (
      select c.id from calls c
      where c.node_id = p_node_id and c.account_id = p_account_id and c.trunk_id = p_trunk_id
        and c.stage = 'queued' and c.due_at <= p_now and c.fence <= p_fence
      order by c.due_at, c.id limit p_take
      for update skip locked
    ), claimed as (
      update calls c set stage = 'agent', fence = p_fence, pulse_seconds = (
        select a.call_pulse_seconds from accounts a where a.account_id = p_account_id)
      from next where c.account_id = p_account_id and c.id = next.id
      returning c.id, c.from_number, c.to_phone
    )
    -- Leaders of other nodes take pairs too: all in one order, or they would wait for each other.
    select d.id from claimed d order by d.from_number, d.to_phone, d.id
  loop
    suppressed := exists (
      select from suppressions s join calls c on c.account_id = p_account_id and c.id = v_id
      where s.account_id = p_account_id and s.phone = c.to_phone and s.channel in ('all', 'voice')
        and (s.expires_at is null or s.expires_at > p_now));
    pair_taken := false;
    if not suppressed then
      insert into call_pairs (account_id, from_number, to_phone, call_id)
        select p_account_id, c.from_number, c.to_phone, v_id from calls c
        where c.account_id = p_account_id and c.id = v_id
        on conflict do nothing;
      pair_taken := not found;
    end if;
    call := call_state(p_account_id, v_id);
    return next;
  end loop;
end $$;

-- What predecessors had under way on the node is the leader's own now, but for what it has already.
-- What they had only claimed waits again: nobody was called for it, and what stands against it may change.
create function adopt_calls(p_account_id bigint, p_node_id bigint, p_fence bigint, p_known bigint[])
returns table (call jsonb)
language plpgsql as $$
declare
  v_id bigint;
begin
  with given_back as (
    update calls c set fence = p_fence, stage = 'queued'
    where c.node_id = p_node_id and c.account_id = p_account_id
      and c.stage = 'agent' and c.initiated_at is null and c.fence <= p_fence and c.id <> all (p_known)
    returning c.id, c.from_number, c.to_phone
  )
  delete from call_pairs p using given_back g
    where p.account_id = p_account_id and p.from_number = g.from_number and p.to_phone = g.to_phone
      and p.call_id = g.id;
  for v_id in
    update calls c set fence = p_fence
    where c.node_id = p_node_id and c.account_id = p_account_id
      and c.stage not in ('queued', 'ended') and c.fence <= p_fence and c.id <> all (p_known)
    returning c.id
  loop
    call := call_state(p_account_id, v_id);
    return next;
  end loop;
end $$;

create function call_stage_rank(p_stage text) returns int
language sql immutable as $$
  select array_position(array['queued', 'agent', 'customer', 'talking', 'ending', 'ended'], p_stage)
$$;

-- Sets more credit aside for a call that goes on; false, and nothing done, when there is none.
create function top_up_call(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_amount int, p_now timestamptz
) returns boolean
language plpgsql as $$
declare
  v_reservation_id bigint;
begin
  update calls c set reserved = c.reserved + p_amount
    where c.account_id = p_account_id and c.id = p_call_id and c.fence = p_fence and c.stage <> 'ended'
    returning c.reservation_id into v_reservation_id;
  if not found then
    raise exception 'the call % of account % is another leader''s', p_call_id, p_account_id
      using errcode = 'TL001';
  end if;
  update credit_balances b set available = b.available - p_amount
    where b.account_id = p_account_id and b.kind = 'call' and b.available >= p_amount;
  if not found then
    update calls c set reserved = c.reserved - p_amount
      where c.account_id = p_account_id and c.id = p_call_id;
    return false;
  end if;
  insert into credit_transfers
    (account_id, kind, type, from_book, to_book, amount, reservation_id, at)
    values (p_account_id, 'call', 'reserve', 'available', 'reserved', p_amount, v_reservation_id, p_now);
  return true;
end $$;

-- Writes a step of a call: the row, the legs it changed, what is told of it. A stage never goes back.
-- Of a call that ends, the pair is free again and the credit settled: `cost` is captured, or only what
-- is reserved where the rest is not to be had, and what is left given back. What ends nothing and begins nothing need not
-- wait for the disk (p_durable). False: this very step stands already, its first answer was lost.
create function write_call(
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
    recording_state = v_new.recording_state, retry_at = v_new.retry_at, steps = v_new.steps
  where c.account_id = p_account_id and c.id = p_call_id;
  return true;
end $$;

-- The bill of a call that is over: returns what was captured.
create function settle_call(p_call calls, p_now timestamptz) returns int
language plpgsql as $$
declare
  v_missing int := p_call.cost - p_call.reserved;
begin
  if p_call.reservation_id is null then return 0; end if;
  if v_missing > 0 then
    -- It went on while nobody was there to top it up.
    update credit_balances b set available = b.available - v_missing
      where b.account_id = p_call.account_id and b.kind = 'call' and b.available >= v_missing;
    if found then
      insert into credit_transfers
        (account_id, kind, type, from_book, to_book, amount, reservation_id, at)
        values (p_call.account_id, 'call', 'reserve', 'available', 'reserved', v_missing,
          p_call.reservation_id, p_now);
    else
      p_call.cost := p_call.reserved;
    end if;
  end if;
  perform settle_credits(p_call.account_id, p_call.reservation_id, p_call.cost,
    greatest(p_call.reserved - p_call.cost, 0), 0, p_now);
  update credit_reservations r set closed_at = p_now
    where r.account_id = p_call.account_id and r.id = p_call.reservation_id;
  return p_call.cost;
end $$;

-- Queues a call together with the credit of its legs, in one statement, so that the balance, which all
-- calls of the account need, is locked no longer than until the commit. Null, and nothing done, when
-- there is not enough.
create function queue_call(p_call jsonb, p_credits int, p_now timestamptz) returns bigint
language plpgsql as $$
declare
  v_call calls := jsonb_populate_record(null::calls, p_call);
begin
  update credit_balances b set available = b.available - p_credits
    where b.account_id = v_call.account_id and b.kind = 'call' and b.available >= p_credits;
  if not found then
    return null;
  end if;
  insert into calls (account_id, campaign_id, attempt, retried_leg, node_id, trunk_id, from_number,
      to_number, to_phone, cli_number, due_at, queued_at, reserved)
    values (v_call.account_id, v_call.campaign_id, v_call.attempt, v_call.retried_leg, v_call.node_id,
      v_call.trunk_id, v_call.from_number, v_call.to_number, v_call.to_phone, v_call.cli_number,
      v_call.due_at, p_now, p_credits)
    returning id into v_call.id;
  insert into credit_reservations (account_id, kind, subject, created_at)
    values (v_call.account_id, 'call', 'call:' || v_call.id, p_now)
    returning id into v_call.reservation_id;
  insert into credit_transfers
    (account_id, kind, type, from_book, to_book, amount, reservation_id, at)
    values (v_call.account_id, 'call', 'reserve', 'available', 'reserved', p_credits,
      v_call.reservation_id, p_now);
  update calls c set reservation_id = v_call.reservation_id
    where c.account_id = v_call.account_id and c.id = v_call.id;
  return v_call.id;
end $$;
