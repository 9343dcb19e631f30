-- Returns whose cap another leg to each of these phones (E.164 digits) would exceed: number, token or account; null:
-- none's. p_token_id: of the request; null: none.
create or replace function call_cap(p_account_id bigint, p_token_id bigint, p_phones text[], p_now timestamptz)
returns text
language plpgsql as $$
declare
  v_phone text;
begin
  foreach v_phone in array p_phones loop
    -- A phone that was not called has room. Asked first, because that is cheaper.
    if exists (
      select from call_usage u where u.account_id = p_account_id and u.subject = 'number:' || phone_key(v_phone)) then
      -- Not in the same condition: on Citus, it would run on the shard.
      if call_room(p_account_id, 'number:' || phone_key(v_phone), p_now) < 1 then
        return 'number';
      end if;
    end if;
  end loop;
  return case
    when call_room(p_account_id, 'token:' || p_token_id, p_now) < cardinality(p_phones) then 'token'
    when call_room(p_account_id, 'account', p_now) < cardinality(p_phones) then 'account'
  end;
end $$;
