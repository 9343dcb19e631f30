-- Purges one batch of an account's audit entries. Entries are numbered in about the order of time, so that only the
-- first ones are read, without an index by time.
create or replace function purge_audit_entries(
  p_account_id bigint, p_before timestamptz, p_rows_max int
) returns table (purged int, more boolean)
language plpgsql
set enable_seqscan = off
as $$
begin
  return query with oldest as (
    select e.id, e.at from audit_entries e where e.account_id = p_account_id order by e.id limit p_rows_max
  ), deleted as (
    delete from audit_entries e using oldest o
    where e.account_id = p_account_id and e.id = o.id and o.at < p_before
    returning 1
  )
  select count(*)::int, count(*) = p_rows_max from deleted;
end $$;
