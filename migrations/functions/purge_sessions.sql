-- Purges one batch of an account's sessions, from where the last batch of the backlog ended. The caller has locked the
-- account.
create or replace function purge_sessions(
  p_account_id bigint, p_before timestamptz, p_rows_max int
) returns table (purged int, more boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_from timestamptz;
  v_last timestamptz;
begin
  v_from := coalesce((
    select p.at from retention_positions p where p.account_id = p_account_id and p.setting = 'sessions'), '-infinity');
  with expired as (
    select t.id from tokens t
    where t.account_id = p_account_id and t.kind = 'session' and t.expires_at >= v_from and t.expires_at < p_before
    order by t.expires_at limit p_rows_max
  ), deleted as (
    delete from tokens t using expired e
    where t.account_id = p_account_id and t.id = e.id
    returning t.expires_at
  )
  select count(*)::int, count(*) = p_rows_max, max(d.expires_at) into purged, more, v_last from deleted d;
  perform keep_retention_position(p_account_id, 'sessions', v_last, null);
  return next;
end $$;
