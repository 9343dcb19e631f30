-- Settles the credit of a call that has ended and returns the credits captured: its cost, or what was
-- reserved when the balance cannot cover the rest.
create or replace function settle_call(p_call calls, p_now timestamptz) returns int
language plpgsql as $$
declare
  v_missing int := p_call.cost - p_call.reserved;
begin
  if p_call.reservation_id is null then return 0; end if;
  perform count_credits(p_call, p_call.cost - p_call.topped_up, p_now);
  if v_missing > 0 then
    -- The call went on while no leader topped it up.
    if draw_credits(p_call.account_id, 'call', v_missing, p_now) then
      insert into credit_transfers
        (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
        values (p_call.account_id, 'call', 'reserve', 'available', 'reserved', v_missing,
          p_call.reservation_id, p_now);
    else
      perform count_credits(p_call, -v_missing, p_now);
      p_call.cost := p_call.reserved;
    end if;
  end if;
  perform settle_credits(p_call.account_id, p_call.reservation_id, p_call.cost,
    greatest(p_call.reserved - p_call.cost, 0), 0, p_now);
  update credit_reservations r set closed_at = p_now
    where r.account_id = p_call.account_id and r.id = p_call.reservation_id;
  return p_call.cost;
end $$;
