-- Does what write_call does for several calls of an account, none of which ends. Returns a row for each call
-- that is the leader's and has not ended: whether it was written, or had been before. Ignores other leaders'
-- calls. Calls are found by `= any` of their ids: joined alone, a plan made for empty tables read all of the
-- account's calls (2.3 ms for one transition instead of 0.8).
create or replace function write_calls(
  p_account_id bigint, p_fence bigint, p_calls jsonb, p_legs jsonb, p_events jsonb, p_durable boolean
) returns table (call_id bigint, written boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_new calls[];
  v_ids bigint[];
  v_stand bigint[];
  v_written bigint[];
begin
  if not p_durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select array_agg(n), array_agg(n.id) into v_new, v_ids
  from jsonb_populate_recordset(null::calls, p_calls) n where n.stage <> 'ended';
  with held as materialized (
    select c.id, c.steps, c.stage from calls c
    where c.account_id = p_account_id and c.id = any (v_ids) and c.fence = p_fence
    order by c.id for no key update
  )
  select coalesce(array_agg(h.id) filter (where n.steps <= h.steps), '{}'),
    coalesce(array_agg(h.id) filter (where n.steps > h.steps and h.stage <> 'ended'
      and call_stage_rank(n.stage) >= call_stage_rank(h.stage)), '{}')
  into v_stand, v_written
  from held h join unnest(v_new) n on n.id = h.id;

  insert into call_legs as l (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at,
      ringing_at, answered_at, ended_at, outcome, cause, sip_status, blocker)
  select p_account_id, n.call_id, n.id, n.role, n.number, n.on_trunk, n.state, n.status, n.initiated_at, n.ringing_at,
    n.answered_at, n.ended_at, n.outcome, n.cause, n.sip_status, n.blocker
  from jsonb_populate_recordset(null::call_legs, p_legs) n where n.call_id = any (v_written)
  on conflict (account_id, call_id, id) do update set
    state = excluded.state, status = excluded.status, ringing_at = excluded.ringing_at,
    answered_at = excluded.answered_at, ended_at = excluded.ended_at, outcome = excluded.outcome,
    cause = excluded.cause, sip_status = excluded.sip_status, blocker = excluded.blocker;

  with new_events as materialized (
    select e.* from jsonb_to_recordset(p_events) e (call_id bigint, type text, at timestamptz, data json)
    where e.call_id = any (v_written)
  ), inserted_call_events as (
    insert into call_events (account_id, call_id, type, at, data)
    select p_account_id, t.call_id, t.type, t.at, t.data from new_events t
  )
  insert into events (account_id, type, occurred_at, data)
  select p_account_id, t.type, t.at, t.data from new_events t;

  update calls c set
    stage = n.stage, status = n.status, initiated_at = n.initiated_at, ringing_at = n.ringing_at,
    answered_at = n.answered_at, ended_at = n.ended_at, disposition = n.disposition,
    ended_reason = n.ended_reason, ended_by = n.ended_by, answered_by = n.answered_by,
    hangup_cause = n.hangup_cause, sip_status = n.sip_status, dtmf = n.dtmf,
    ring_seconds = n.ring_seconds, talk_seconds = n.talk_seconds, billed_seconds = n.billed_seconds,
    cost = n.cost, recording_state = n.recording_state, retry_at = n.retry_at, steps = n.steps,
    position = n.position, collected = n.collected, lead_fields = n.lead_fields,
    callback_at = n.callback_at, opted_out = c.opted_out or n.opted_out, abandoned = n.abandoned,
    seen_at = n.seen_at
  from unnest(v_new) n
  where c.account_id = p_account_id and c.id = any (v_written) and n.id = c.id;

  return query select i, false from unnest(v_stand) i union all select i, true from unnest(v_written) i;
end $$;
