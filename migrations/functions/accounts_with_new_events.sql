-- Returns the next accounts that have events without seq, in order. A loose index scan: jumps from account to account in
-- the index of those events, instead of reading all of it.
create or replace function accounts_with_new_events(p_after bigint, p_limit int) returns table (account_id bigint)
language sql stable as $$
  with recursive waiting as (
    (select e.account_id from events e where e.seq is null and e.account_id > p_after
      order by e.account_id limit 1)
    union all
    select (
      select e.account_id from events e where e.seq is null and e.account_id > w.account_id
      order by e.account_id limit 1)
    from waiting w where w.account_id is not null
  )
  select w.account_id from waiting w where w.account_id is not null limit p_limit
$$;
