-- Purges one batch of an account's sign-in links that were used or have expired, from where the last batch of the backlog
-- ended. Those that are left last three days at most, so that they need no index by time. The caller has locked the
-- account.
create or replace function purge_sign_in_links(
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
    select p.id from retention_positions p where p.account_id = p_account_id and p.setting = 'sign_in_links'), 0);
  with ended as (
    select l.id from sign_in_links l
    where l.account_id = p_account_id and l.id > v_from and (l.used_at is not null or l.expires_at < p_before)
    order by l.id limit p_rows_max
  ), deleted as (
    delete from sign_in_links l using ended e
    where l.account_id = p_account_id and l.id = e.id
    returning l.id
  )
  select (select count(*)::int from deleted), count(*) = p_rows_max, max(e.id) into purged, more, v_last from ended e;
  perform keep_retention_position(p_account_id, 'sign_in_links', null, v_last);
  return next;
end $$;
