-- Purges one batch of an account's audit entries, from where the last batch of the backlog ended. Entries are numbered in
-- about the order of time, so that only the first ones are read, without an index by time. Keeps the entries by which
-- `account unfreeze` recognizes an account that has moved, however long it has been frozen: they are few, and each batch
-- begins after those that it passes. The caller has locked the account.
create or replace function purge_audit_entries(
  p_account_id bigint, p_before timestamptz, p_rows_max int
) returns table (purged int, more boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_from bigint;
  v_last bigint;
begin
  v_from := coalesce((
    select p.id from retention_positions p where p.account_id = p_account_id and p.setting = 'audit'), 0);
  with oldest as (
    select e.id, e.at, e.action from audit_entries e
    where e.account_id = p_account_id and e.id > v_from
    order by e.id limit p_rows_max
  ), deleted as (
    delete from audit_entries e using oldest o
    where e.account_id = p_account_id and e.id = o.id and o.at < p_before
      and o.action not in ('account.frozen', 'account.exported', 'account.imported')
    returning e.id
  )
  select (select count(*)::int from deleted), count(*) = p_rows_max, max(o.id) into purged, more, v_last
    from oldest o where o.at < p_before;
  perform keep_retention_position(p_account_id, 'audit', null, v_last);
  return next;
end $$;
