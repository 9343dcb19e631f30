-- Deletes the oldest events before p_before by seq, with their deliveries and attempts: at most p_rows_max
-- rows, but at least one event. Events without a seq stay. `more`: there may be others. Locks events,
-- endpoints, deliveries in this order, as make_deliveries and record_and_claim_deliveries do.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch. The
-- locks therefore follow sorted arrays: an ORDER BY read the whole account instead (52 s among 2,000,000 events).
-- Deletes are bounded besides their list of ids: PostgreSQL before 17 may read all that the account has and
-- filter by the list, when accounts are small on average.
create or replace function purge_events(
  p_account_id bigint, p_before timestamptz, p_rows_max int, out deleted int, out more boolean
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
  v_endpoints bigint[];
begin
  with oldest as materialized (
    select e.id, e.seq, e.occurred_at from events e
    where e.account_id = p_account_id and e.seq is not null
    order by e.seq limit p_rows_max
  ), weighed as (
    select o.id, row_number() over w as place, sum(1 + d.rows) over w as rows
    from oldest o
    cross join lateral (
      select count(*) + coalesce(sum(d.attempts), 0) as rows from callback_deliveries d
      where d.account_id = p_account_id and d.event_id = o.id) d
    where o.occurred_at < p_before
    window w as (order by o.seq)
  )
  select coalesce(array_agg(w.id order by w.id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    count(*) = p_rows_max or coalesce(bool_or(w.place > 1 and w.rows > p_rows_max), false)
  into v_ids, more from weighed w;
  deleted := cardinality(v_ids);
  if deleted = 0 then return; end if;

  foreach v_id in array v_ids loop
    perform from events e where e.account_id = p_account_id and e.id = v_id for update;
  end loop;
  select coalesce(array_agg(distinct d.endpoint_id), '{}') into v_endpoints from callback_deliveries d
    where d.account_id = p_account_id and d.event_id = any (v_ids)
      and d.event_id between v_ids[1] and v_ids[deleted];
  foreach v_id in array v_endpoints loop
    perform from callback_endpoints c where c.account_id = p_account_id and c.id = v_id for no key update;
  end loop;
  delete from callback_deliveries d
    where d.account_id = p_account_id and d.event_id = any (v_ids)
      and d.event_id between v_ids[1] and v_ids[deleted];
  delete from events e
    where e.account_id = p_account_id and e.id = any (v_ids) and e.id between v_ids[1] and v_ids[deleted];
end $$;
