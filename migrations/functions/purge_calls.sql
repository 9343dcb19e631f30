-- Deletes calls that ended before p_before and whose recordings are deleted, with all their rows: at most
-- p_rows_max rows. A click-to-call is deleted when its last attempt can be.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch.
create or replace function purge_calls(
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
  v_ids bigint[];
  v_campaigns bigint[];
  v_found int;
  -- A call has about ten rows.
  v_calls_max int := greatest(p_rows_max / 10, 1);
begin
  with oldest as materialized (
    select c.id, c.campaign_id, c.ended_at from calls c
    where c.account_id = p_account_id and c.stage = 'ended' and c.recording_state not in ('ready', 'failed')
      and c.ended_at < p_before
      and not exists (
        select from call_messages m
        where m.account_id = p_account_id and m.call_id = c.id and m.state <> 'deleted')
      and (c.recipient_id is not null or not exists (
        select from calls o
        where o.account_id = p_account_id and o.campaign_id = c.campaign_id
          and (o.ended_at is null or o.ended_at >= p_before or o.recording_state in ('ready', 'failed'))))
    order by c.ended_at, c.id limit v_calls_max
  ), weighed as (
    select o.id, o.campaign_id, row_number() over w as place, sum(
      (select 3 + count(*) from call_legs l where l.account_id = p_account_id and l.call_id = o.id)
      + (select count(*) from call_events e where e.account_id = p_account_id and e.call_id = o.id)
      + (select count(*) from call_menu_steps s where s.account_id = p_account_id and s.call_id = o.id)
      + (select count(*) from call_transcripts t where t.account_id = p_account_id and t.call_id = o.id)
      + (select count(*) from call_messages m where m.account_id = p_account_id and m.call_id = o.id)
    ) over w as rows
    from oldest o
    window w as (order by o.ended_at, o.id)
  )
  select coalesce(array_agg(w.id order by w.id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    coalesce(array_agg(distinct w.campaign_id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    count(*)
  into v_ids, v_campaigns, v_found from weighed w;
  deleted := cardinality(v_ids);
  more := v_found = v_calls_max or v_found > deleted;
  if deleted = 0 then return; end if;

  -- The CRM may be recording the outcome of one.
  perform from calls c where c.account_id = p_account_id and c.id = any (v_ids) order by c.id for update;
  delete from jobs j
    where j.account_id = p_account_id and j.kind = 'crm.record_call'
      and j.subject = any (array(select 'call:' || i from unnest(v_ids) i)) and j.lease_until is null;
  delete from call_legs l where l.account_id = p_account_id and l.call_id = any (v_ids);
  delete from call_events e where e.account_id = p_account_id and e.call_id = any (v_ids);
  delete from call_menu_steps s where s.account_id = p_account_id and s.call_id = any (v_ids);
  delete from call_transcripts t where t.account_id = p_account_id and t.call_id = any (v_ids);
  delete from call_messages m where m.account_id = p_account_id and m.call_id = any (v_ids);
  delete from call_commands k where k.account_id = p_account_id and k.call_id = any (v_ids);
  delete from calls c where c.account_id = p_account_id and c.id = any (v_ids);

  -- A request for another attempt locks the campaign too, and then finds no call to repeat.
  v_campaigns := array(
    select m.id from call_campaigns m
    where m.account_id = p_account_id and m.id = any (v_campaigns) and m.kind = 'click_to_call'
      and not exists (
        select from calls c where c.account_id = p_account_id and c.campaign_id = m.id)
    order by m.id for update);
  delete from click_to_calls p where p.account_id = p_account_id and p.campaign_id = any (v_campaigns);
  delete from call_campaigns m where m.account_id = p_account_id and m.id = any (v_campaigns);
end $$;
