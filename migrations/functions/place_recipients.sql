-- Creates the calls of claimed recipients, each with its first leg, credit reservation and call.initiated
-- event. Each has the id at its recipient's place in p_call_ids. p_caller_id: the caller ID of a campaign that has
-- none of its own.
create or replace function place_recipients(
  p_campaign voice_campaigns, p_recipients int[], p_call_ids bigint[], p_node_id bigint, p_fence bigint,
  p_caller_id text, p_now timestamptz
) returns void
language plpgsql as $$
begin
  with placed as materialized (
    select r.id, r.number, r.phone, r.due_at, r.attempts + 1 as attempt,
      coalesce(p_campaign.caller_id, p_caller_id) as caller_id,
      p_call_ids[array_position(p_recipients, r.id)] as call_id,
      nextval(pg_get_serial_sequence('credit_reservations', 'id')) as reservation_id
    from voice_recipients r
    where r.account_id = p_campaign.account_id and r.campaign_id = p_campaign.id and r.id = any (p_recipients)
  ), taken as (
    update voice_recipients r set state = 'calling', attempts = p.attempt, call_id = p.call_id
    from placed p
    -- `= any` too: joined alone, a plan made for a campaign without statistics read all of its 100,000
    -- recipients (1.7 s for 20 calls).
    where r.account_id = p_campaign.account_id and r.campaign_id = p_campaign.id and r.id = any (p_recipients)
      and r.id = p.id
  ), reserved as (
    insert into credit_reservations (account_id, id, kind, subject, created_at)
    select p_campaign.account_id, p.reservation_id, 'call', 'call:' || p.call_id, p_now from placed p
  ), paid as (
    insert into credit_transfers (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    select p_campaign.account_id, 'call', 'reserve', 'available', 'reserved', 1, p.reservation_id, p_now
    from placed p
  ), called as (
    insert into calls (account_id, id, campaign_id, attempt, node_id, trunk_id, fence, stage, status,
      from_number, to_number, to_phone, due_at, queued_at, initiated_at, reservation_id, reserved,
      pulse_seconds, recipient_id)
    select p_campaign.account_id, p.call_id, p_campaign.id, p.attempt, p_node_id, p_campaign.trunk_id,
      p_fence, 'customer', 'ringing', p.caller_id, p.number, p.phone, p.due_at, p_now, p_now,
      p.reservation_id, 1, a.call_pulse_seconds, p.id
    from placed p join accounts a on a.account_id = p_campaign.account_id
  ), rung as (
    insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at)
    select p_campaign.account_id, p.call_id, 1, 'customer', p.phone, true, 'dialing', 'queued', p_now
    from placed p
  ), new_events as (
    select p.call_id, json_build_object('call_id', p.call_id, 'campaign_id', p_campaign.id,
      'reference', null, 'attempt', p.attempt, 'from_number', p.caller_id, 'to_number', p.number,
      'status', 'ringing') as data
    from placed p
  ), inserted_call_events as (
    insert into call_events (account_id, call_id, type, at, data)
    select p_campaign.account_id, t.call_id, 'call.initiated', p_now, t.data from new_events t
  )
  insert into events (account_id, type, occurred_at, data)
  select p_campaign.account_id, 'call.initiated', p_now, t.data from new_events t;
end $$;
