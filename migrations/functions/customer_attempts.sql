-- Returns how often a customer's phone, in any spelling, was rung in the last 24 hours. Legs that were withdrawn
-- before they were dialed, or never reached the switch, do not count. Few calls are queued more than a month before
-- they are placed: these have an index of their own. Laterals with a limit: as a join, a plan made for empty tables
-- read all of the account's calls (100 ms with 800 calls).
create or replace function customer_attempts(p_account_id bigint, p_phone text, p_now timestamptz) returns int
language plpgsql stable as $$
declare
  v_phone text;
  v_attempts int := 0;
begin
  foreach v_phone in array phone_spellings(p_phone) loop
    v_attempts := v_attempts + (
      select count(*)
      from (
        (select c.id from calls c
        where c.account_id = p_account_id and c.to_phone = v_phone and c.queued_at > p_now - interval '32 days'
          and c.direction = 'outbound'
        order by c.queued_at desc limit 1000)
        union all
        -- A call that is placed an hour late ends.
        (select c.id from calls c
        where c.account_id = p_account_id and c.to_phone = v_phone and c.queued_at <= p_now - interval '32 days'
          and c.due_at - c.queued_at > interval '30 days' and c.due_at > p_now - interval '26 hours'
          and c.direction = 'outbound'
        order by c.due_at desc limit 1000)) c
      cross join lateral (
        select from call_legs l
        where l.account_id = p_account_id and l.call_id = c.id and l.role = 'customer'
          and l.initiated_at > p_now - interval '24 hours'
          and (l.outcome is null or l.outcome not in ('canceled', 'unplaced') or l.ringing_at is not null)
        limit 100) l);
  end loop;
  return v_attempts;
end $$;
