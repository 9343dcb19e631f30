-- Counts credits of a call for its account, its request's token and its customer's phone, in the current hour. Locks
-- the account's counter first; call it before the balance is locked.
create or replace function count_credits(p_call calls, p_credits int, p_now timestamptz) returns void
language plpgsql as $$
begin
  if p_credits = 0 then return; end if;
  insert into call_usage as u (account_id, subject, hour, slot, credits)
  select p_call.account_id, s.subject, date_trunc('hour', p_now, 'UTC'), 1 + (p_call.id % 4)::int, p_credits
  from call_campaigns m
  cross join unnest(array['account', 'token:' || m.token_id, 'number:' || nullif(phone_key(p_call.to_phone), '')])
    with ordinality s (subject, place)
  where m.account_id = p_call.account_id and m.id = p_call.campaign_id and s.subject is not null
  order by s.place
  on conflict (account_id, subject, hour, slot) do update set credits = u.credits + excluded.credits;
end $$;
