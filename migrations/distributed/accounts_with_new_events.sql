-- As the function of this name on PostgreSQL. Citus refuses its recursion; each shard reads its index entries of events
-- without seq up to the limit's account.
create or replace function accounts_with_new_events(p_after bigint, p_limit int) returns table (account_id bigint)
language plpgsql stable as $$
begin
  return query
    select distinct e.account_id from events e where e.seq is null and e.account_id > p_after
    order by e.account_id limit p_limit;
end
$$;
