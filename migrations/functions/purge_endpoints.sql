-- Checks up to p_rows_max endpoints that campaign launches created, and deletes those whose campaigns' calls have no
-- events left. The others are checked again a day later. Keeps adopted endpoints, because their receivers know the
-- secret. An account may have a million endpoints in use: before unused_check_at, each step checked all of them.
-- Sorting is off: a plan made for a table without statistics would read all endpoints in each batch.
create or replace function purge_endpoints(
  p_account_id bigint, p_before timestamptz, p_rows_max int, p_now timestamptz,
  out deleted int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_id bigint;
  v_ids bigint[];
  v_url text;
begin
  deleted := 0;
  -- A launch locks the endpoint that it uses: either it is skipped here, or the launch is visible below.
  v_ids := array(
    select c.id from callback_endpoints c
    where c.account_id = p_account_id and c.kind = 'campaign' and c.deleted_at is null and not c.adopted
      and c.unused_check_at <= p_now
    order by c.unused_check_at limit p_rows_max
    for update skip locked);
  more := cardinality(v_ids) = p_rows_max;
  foreach v_id in array v_ids loop
    select c.url into v_url from callback_endpoints c
      where c.account_id = p_account_id and c.id = v_id and c.created_at < p_before;
    if found and is_unused_endpoint(p_account_id, v_id, v_url, p_before) then
      update callback_endpoints c set deleted_at = p_now, enabled = false, work_at = null, updated_at = p_now
        where c.account_id = p_account_id and c.id = v_id;
      deleted := deleted + 1;
      insert into jobs (account_id, kind, subject, run_at, created_at)
        values (p_account_id, 'callbacks.clear_endpoint', v_id::text, p_now, p_now);
    else
      update callback_endpoints c set unused_check_at = p_now + interval '1 day'
        where c.account_id = p_account_id and c.id = v_id;
    end if;
  end loop;
end $$;
