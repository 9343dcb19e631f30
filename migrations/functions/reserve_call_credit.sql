-- Raises the credit that a call in progress has reserved to p_reserved; returns false and changes nothing when there is
-- not enough. A repetition, because the first answer was lost, reserves nothing more.
create or replace function reserve_call_credit(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_reserved int, p_now timestamptz
) returns boolean
language plpgsql as $$
declare
  v_call calls;
  v_amount int;
begin
  select * into v_call from calls c
    where c.account_id = p_account_id and c.id = p_call_id and c.fence = p_fence and c.stage <> 'ended'
    for no key update;
  if not found then
    raise exception 'the call % of account % is another leader''s', p_call_id, p_account_id
      using errcode = 'TL001';
  end if;
  v_amount := p_reserved - v_call.reserved;
  if v_amount <= 0 then
    return true;
  end if;
  perform count_credits(v_call, v_amount, p_now);
  if not draw_credits(p_account_id, 'call', v_amount, p_now) then
    perform count_credits(v_call, -v_amount, p_now);
    return false;
  end if;
  update calls c set reserved = p_reserved, topped_up = c.topped_up + v_amount
    where c.account_id = p_account_id and c.id = p_call_id;
  insert into credit_transfers
    (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    values (p_account_id, 'call', 'reserve', 'available', 'reserved', v_amount, v_call.reservation_id, p_now);
  return true;
end $$;
