-- Queues a call and reserves credit for its legs in one statement, because all calls of the account lock the
-- balance until the commit. Returns null and changes nothing when there is not enough credit.
create or replace function queue_call(p_call jsonb, p_credits int, p_now timestamptz) returns bigint
language plpgsql as $$
declare
  v_call calls := jsonb_populate_record(null::calls, p_call);
begin
  if not draw_credits(v_call.account_id, 'call', p_credits, p_now) then
    return null;
  end if;
  v_call.id := nextval(pg_get_serial_sequence('calls', 'id'));
  insert into credit_reservations (account_id, kind, subject, created_at)
    values (v_call.account_id, 'call', 'call:' || v_call.id, p_now)
    returning id into v_call.reservation_id;
  insert into credit_transfers
    (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    values (v_call.account_id, 'call', 'reserve', 'available', 'reserved', p_credits,
      v_call.reservation_id, p_now);
  insert into calls (account_id, id, campaign_id, attempt, retried_leg, node_id, trunk_id, from_number,
      to_number, to_phone, cli_number, due_at, queued_at, reservation_id, reserved)
    values (v_call.account_id, v_call.id, v_call.campaign_id, v_call.attempt, v_call.retried_leg,
      v_call.node_id, v_call.trunk_id, v_call.from_number, v_call.to_number, v_call.to_phone,
      v_call.cli_number, v_call.due_at, p_now, v_call.reservation_id, p_credits);
  return v_call.id;
end $$;
