-- Deletes the oldest events before p_before by seq, with their deliveries and attempts: at most p_rows_max rows, but at
-- least one event, and up to ten times as many events if they have no deliveries. Events without a seq stay. `more`:
-- there may be others. Locks events by id, endpoints, deliveries in this order, as make_deliveries and
-- record_and_claim_deliveries do: the deletes follow the primary key. The caller has locked the account.
-- Events without deliveries are deleted by the range of their ids: 3 us of CPU each instead of 14, of which locking each
-- by its id, looking up its deliveries and deleting by a list of ids were most.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch. Bitmaps are
-- off, because they do not follow the key.
-- Deletes are bounded besides their list of ids: PostgreSQL before 17 may read all that the account has and
-- filter by the list, when accounts are small on average.
create or replace function purge_events(
  p_account_id bigint, p_before timestamptz, p_rows_max int, out deleted int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_id bigint;
  v_ids bigint[];
  v_endpoints bigint[];
  v_from bigint;
  v_limit int;
  v_oldest bigint;
  v_first bigint;
  v_last bigint;
  v_seq bigint;
  v_expired int;
  has_deliveries boolean;
begin
  deleted := 0;
  more := false;
  select a.retention_events_seq into v_from from accounts a where a.account_id = p_account_id;
  foreach v_limit in array array[p_rows_max, 10 * p_rows_max] loop
    select min(o.seq), min(o.id) filter (where o.is_expired), max(o.id) filter (where o.is_expired),
      max(o.seq) filter (where o.is_expired), count(*) filter (where o.is_expired)
    into v_oldest, v_first, v_last, v_seq, v_expired from (
      select e.id, e.seq, e.occurred_at < p_before as is_expired from events e
      where e.account_id = p_account_id and e.seq is not null and e.seq >= v_from
      order by e.seq limit v_limit) o;
    if v_expired = 0 then return; end if;
    has_deliveries := exists (
      select from callback_deliveries d
      where d.account_id = p_account_id and d.event_id between v_first and v_last);
    exit when has_deliveries or v_expired < v_limit;
  end loop;
  update accounts a set retention_events_seq = v_oldest where a.account_id = p_account_id;

  if not has_deliveries then
    delete from events e
      where e.account_id = p_account_id and e.id between v_first and v_last and e.seq between v_oldest and v_seq
        and e.occurred_at < p_before;
    get diagnostics deleted = row_count;
    more := v_expired = v_limit;
    return;
  end if;

  with oldest as materialized (
    select e.id, e.seq, e.occurred_at from events e
    where e.account_id = p_account_id and e.seq is not null and e.seq >= v_oldest
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
  delete from events e
    where e.account_id = p_account_id and e.id = any (v_ids) and e.id between v_ids[1] and v_ids[deleted];
  select coalesce(array_agg(distinct d.endpoint_id), '{}') into v_endpoints from callback_deliveries d
    where d.account_id = p_account_id and d.event_id = any (v_ids)
      and d.event_id between v_ids[1] and v_ids[deleted];
  foreach v_id in array v_endpoints loop
    perform from callback_endpoints c where c.account_id = p_account_id and c.id = v_id for no key update;
  end loop;
  delete from callback_deliveries d
    where d.account_id = p_account_id and d.event_id = any (v_ids)
      and d.event_id between v_ids[1] and v_ids[deleted];
end $$;
