-- Records a batch's captures, releases and refunds on one reservation. Zeroes write nothing. Only a release or
-- refund locks the balance, and does so last.
create or replace function settle_credits(
  p_account_id bigint, p_reservation_id bigint, p_capture bigint, p_release bigint, p_refund bigint,
  p_at timestamptz
) returns void
language plpgsql as $$
declare
  v_kind text;
begin
  if p_capture = 0 and p_release = 0 and p_refund = 0 then return; end if;
  select r.kind into strict v_kind from credit_reservations r
    where r.account_id = p_account_id and r.id = p_reservation_id;
  insert into credit_transfers (account_id, kind, type, from_ledger_account, to_ledger_account, amount, reservation_id, at)
  select p_account_id, v_kind, t.type, t.from_ledger_account, t.to_ledger_account, t.amount, p_reservation_id, p_at
  from (values
    ('capture', 'reserved', 'spent', p_capture),
    ('release', 'reserved', 'available', p_release),
    ('refund', 'spent', 'available', p_refund)) t (type, from_ledger_account, to_ledger_account, amount)
  where t.amount > 0;
  if p_release + p_refund > 0 then
    update credit_balances b set available = b.available + p_release + p_refund
      where b.account_id = p_account_id and b.kind = v_kind;
  end if;
end $$;
