-- Reserves more credit for a call in progress; returns false and changes nothing when there is not enough. For the
-- previous version: unlike reserve_call_credit, it must not be repeated.
create or replace function top_up_call(
  p_account_id bigint, p_call_id bigint, p_fence bigint, p_amount int, p_now timestamptz
) returns boolean
language plpgsql as $$
declare
  v_call calls;
begin
  update calls c set reserved = c.reserved + p_amount, topped_up = c.topped_up + p_amount
    where c.account_id = p_account_id and c.id = p_call_id and c.fence = p_fence and c.stage <> 'ended'
    returning * into v_call;
  if not found then
    raise exception 'the call % of account % is another leader''s', p_call_id, p_account_id
      using errcode = 'TL001';
  end if;
  perform count_credits(v_call, p_amount, p_now);
  if not draw_credits(p_account_id, 'call', p_amount, p_now) then
    perform count_credits(v_call, -p_amount, p_now);
    update calls c set reserved = c.reserved - p_amount, topped_up = c.topped_up - p_amount
      where c.account_id = p_account_id and c.id = p_call_id;
    return false;
  end if;
  insert into credit_transfers
    (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
    values (p_account_id, 'call', 'reserve', 'available', 'reserved', p_amount, v_call.reservation_id, p_now);
  return true;
end $$;
