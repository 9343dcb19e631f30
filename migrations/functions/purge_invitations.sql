-- Purges one batch of an account's expired invitations, from where the last batch of the backlog ended. An account has few
-- (1,000 open ones), so that they need no index by time. The caller has locked the account.
create or replace function purge_invitations(
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
    select p.id from retention_positions p where p.account_id = p_account_id and p.setting = 'invitations'), 0);
  with expired as (
    select i.id from invitations i
    where i.account_id = p_account_id and i.id > v_from and i.expires_at < p_before
    order by i.id limit p_rows_max
  ), deleted as (
    -- The time again: an invitation that is sent again meanwhile keeps its ID.
    delete from invitations i using expired e
    where i.account_id = p_account_id and i.id = e.id and i.expires_at < p_before
    returning i.id
  )
  select (select count(*)::int from deleted), count(*) = p_rows_max, max(e.id) into purged, more, v_last from expired e;
  perform keep_retention_position(p_account_id, 'invitations', null, v_last);
  return next;
end $$;
