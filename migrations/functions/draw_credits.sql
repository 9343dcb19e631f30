-- Takes credit from the available balance; returns false and changes nothing when there is not enough.
-- Records credit.low once when the balance falls below the account's threshold. Locks only the balance.
create or replace function draw_credits(p_account_id bigint, p_kind text, p_amount bigint, p_now timestamptz)
returns boolean
language plpgsql as $$
declare
  v_available bigint;
  v_low bigint;
  v_threshold bigint;
begin
  update credit_balances b set available = b.available - p_amount
    where b.account_id = p_account_id and b.kind = p_kind and b.available >= p_amount
    returning b.available, b.low into v_available, v_low;
  if not found then
    return false;
  end if;
  select case when p_kind = 'chat' then a.chat_credit_low else a.call_credit_low end into v_threshold
    from accounts a where a.account_id = p_account_id;
  if v_available < v_threshold and (v_low is null or v_threshold < v_low) then
    update credit_balances b set low = v_threshold where b.account_id = p_account_id and b.kind = p_kind;
    insert into events (account_id, type, occurred_at, data) values (p_account_id, 'credit.low', p_now,
      json_build_object('kind', p_kind, 'available', v_available, 'threshold', v_threshold));
  end if;
  return true;
end $$;
