-- Purges one batch of an account's idempotency keys with their responses. The keys of chat campaigns are kept.
create or replace function purge_idempotency_keys(
  p_account_id bigint, p_before timestamptz, p_rows_max int
) returns table (purged int, more boolean)
language plpgsql
set enable_seqscan = off
as $$
begin
  return query with expired as (
    select k.endpoint, k.key from idempotency_keys k
    where k.account_id = p_account_id and k.created_at < p_before and k.endpoint not like 'createChatCampaign%'
    order by k.created_at limit p_rows_max
  ), deleted as (
    delete from idempotency_keys k using expired e
    where k.account_id = p_account_id and k.endpoint = e.endpoint and k.key = e.key
    returning 1
  )
  select count(*)::int, count(*) = p_rows_max from deleted;
end $$;
