-- Purges one batch of an account's idempotency keys with their responses, from where the last batch of the backlog ended.
-- The keys of chat campaigns are kept. The caller has locked the account.
create or replace function purge_idempotency_keys(
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
    select p.at from retention_positions p where p.account_id = p_account_id and p.setting = 'idempotency_keys'), '-infinity');
  with expired as (
    select k.endpoint, k.key from idempotency_keys k
    where k.account_id = p_account_id and k.created_at >= v_from and k.created_at < p_before
      and k.endpoint not like 'createChatCampaign%'
    order by k.created_at limit p_rows_max
  ), deleted as (
    delete from idempotency_keys k using expired e
    where k.account_id = p_account_id and k.endpoint = e.endpoint and k.key = e.key
    returning k.created_at
  )
  select count(*)::int, count(*) = p_rows_max, max(d.created_at) into purged, more, v_last from deleted d;
  perform keep_retention_position(p_account_id, 'idempotency_keys', v_last, null);
  return next;
end $$;
