-- Returns how many more legs the caps of an account, a token or a phone number allow: by the clock hour, and by the
-- last 24 of them; null: no cap. At most -1 once a cap on credits is reached. Volatile, to see what the caller counted.
create or replace function call_room(p_account_id bigint, p_subject text, p_now timestamptz) returns bigint
language plpgsql as $$
declare
  v_caps jsonb := (
    select a.call_caps -> split_part(p_subject, ':', 1) from accounts a where a.account_id = p_account_id);
begin
  if v_caps is null then return null; end if;
  return (
    select least(
      (v_caps ->> 'legs_hour')::bigint - coalesce(u.legs_hour, 0),
      (v_caps ->> 'legs_day')::bigint - coalesce(u.legs_day, 0),
      case when coalesce(u.credits_hour, 0) >= (v_caps ->> 'credits_hour')::bigint
        or coalesce(u.credits_day, 0) >= (v_caps ->> 'credits_day')::bigint then -1 end)
    from (
      select sum(r.legs) filter (where r.hour = date_trunc('hour', p_now, 'UTC')) as legs_hour, sum(r.legs) as legs_day,
        sum(r.credits) filter (where r.hour = date_trunc('hour', p_now, 'UTC')) as credits_hour,
        sum(r.credits) as credits_day
      from call_usage r
      where r.account_id = p_account_id and r.subject = p_subject
        and r.hour > p_now - interval '24 hours' and r.hour <= p_now) u);
end $$;
