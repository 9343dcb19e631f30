-- Counts a leg to each of these phones (E.164 digits), also for the account and for the request's token, in the
-- current hour. Locks the account's counter first; with no phones, does only that.
create or replace function count_legs(
  p_account_id bigint, p_token_id bigint, p_phones text[], p_slot int, p_now timestamptz
) returns void
language plpgsql as $$
begin
  insert into call_usage as u (account_id, subject, hour, slot, legs)
  select p_account_id, s.subject, date_trunc('hour', p_now, 'UTC'), p_slot, s.legs
  from (
    select 0 as place, 'account' as subject, cardinality(p_phones) as legs
    union all
    select 1, 'token:' || p_token_id, cardinality(p_phones) where p_token_id is not null and p_phones <> '{}'
    union all
    select 2, 'number:' || phone_key(n.phone), count(*)::int from unnest(p_phones) n (phone) group by 2
    order by place, subject) s
  on conflict (account_id, subject, hour, slot) do update set legs = u.legs + excluded.legs;
end $$;
