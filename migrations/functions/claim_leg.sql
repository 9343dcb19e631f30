-- Counts a further leg of a call, such as a group's member or a transfer, before it is dialed, and returns null; or
-- counts nothing and returns its blocker. Incoming calls may ring an agent's phone any number of times. The commit
-- does not wait for the disk: a crash of the database may lose some counts.
create or replace function claim_leg(p_account_id bigint, p_call_id bigint, p_phone text, p_now timestamptz)
returns text
language plpgsql as $$
declare
  v_token_id bigint;
  v_direction text;
  v_cap text;
begin
  perform set_config('synchronous_commit', 'off', true);
  if exists (
    select from suppressions s
    where s.account_id = p_account_id and s.person_key = phone_key(p_phone) and s.channel in ('all', 'voice')
      and (s.expires_at is null or s.expires_at > p_now)) then
    return 'suppressed';
  end if;
  -- Serializes the account's claims, like claim_calls.
  perform count_legs(p_account_id, null, '{}', 0, p_now);
  select m.token_id, c.direction into v_token_id, v_direction
  from calls c join call_campaigns m on m.account_id = p_account_id and m.id = c.campaign_id
  where c.account_id = p_account_id and c.id = p_call_id;
  v_cap := call_cap(p_account_id, v_token_id, array[p_phone], p_now);
  if v_cap = 'number' and v_direction = 'inbound' then
    v_cap := null;
  end if;
  if v_cap is null then
    perform count_legs(p_account_id, v_token_id, array[p_phone], 0, p_now);
  end if;
  return v_cap || '_cap';
end $$;
