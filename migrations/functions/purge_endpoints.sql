-- Deletes up to p_rows_max endpoints that campaign launches created, once all events of their campaigns'
-- calls are deleted. Keeps adopted endpoints, because their receivers know the secret.
create or replace function purge_endpoints(
  p_account_id bigint, p_before timestamptz, p_rows_max int, p_now timestamptz,
  out deleted int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids bigint[];
begin
  -- A launch locks the endpoint that it uses: either it is skipped here, or the launch is visible below.
  v_ids := array(
    select c.id from callback_endpoints c
    where c.account_id = p_account_id and c.kind = 'campaign' and c.deleted_at is null and not c.adopted
      and c.created_at < p_before and is_unused_endpoint(p_account_id, c.id, c.url, p_before)
    order by c.id limit p_rows_max
    for update skip locked);
  with gone as (
    update callback_endpoints c set deleted_at = p_now, enabled = false, work_at = null, updated_at = p_now
    where c.account_id = p_account_id and c.id = any (v_ids)
      and is_unused_endpoint(p_account_id, c.id, c.url, p_before)
    returning c.id
  )
  insert into jobs (account_id, kind, subject, run_at, created_at)
  select p_account_id, 'callbacks.clear_endpoint', g.id::text, p_now, p_now from gone g;
  get diagnostics deleted = row_count;
  more := cardinality(v_ids) = p_rows_max;
end $$;
