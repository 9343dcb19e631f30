-- Deletes calls that ended before p_before and whose recordings are deleted, with all their rows, and the copies of
-- what was said and pressed on their leads' timelines: at most p_rows_max rows. A click-to-call is deleted when its last attempt can be. A backlog is deleted from the position where the
-- last batch ended; calls that were skipped before it are found when the next backlog is looked for. The caller has locked
-- the account.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch. The
-- locks therefore follow sorted arrays: an ORDER BY read the whole account instead.
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
  v_id bigint;
  v_ids bigint[];
  v_campaigns bigint[];
  v_lead bigint;
  v_leads bigint[] := '{}';
  v_found int;
  v_from timestamptz;
  v_last timestamptz;
  -- A call has about ten rows.
  v_calls_max int := greatest(p_rows_max / 10, 1);
begin
  v_from := coalesce((
    select p.at from retention_positions p where p.account_id = p_account_id and p.setting = 'calls'), '-infinity');
  with oldest as materialized (
    select c.id, c.campaign_id, c.ended_at from calls c
    -- Joined with LIMIT, because the planner would build a hash table of all the account's calls for EXISTS.
    left join lateral (
      select true as kept from call_messages m
      where m.account_id = p_account_id and m.call_id = c.id and m.state <> 'deleted' limit 1) m on true
    left join lateral (
      select true as kept from calls o
      where c.recipient_id is null and o.account_id = p_account_id and o.campaign_id = c.campaign_id
        and (o.ended_at is null or o.ended_at >= p_before or o.recording_state in ('ready', 'failed'))
      limit 1) o on true
    where c.account_id = p_account_id and c.stage = 'ended' and c.recording_state not in ('ready', 'failed')
      and c.ended_at >= v_from and c.ended_at < p_before and m.kept is null and o.kept is null
    order by c.ended_at, c.id limit v_calls_max
  ), weighed as (
    select o.id, o.campaign_id, o.ended_at, row_number() over w as place, sum(
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
    count(*), max(w.ended_at) filter (where w.place = 1 or w.rows <= p_rows_max)
  into v_ids, v_campaigns, v_found, v_last from weighed w;
  deleted := cardinality(v_ids);
  more := v_found = v_calls_max or v_found > deleted;
  perform keep_retention_position(p_account_id, 'calls', v_last, null);
  if deleted = 0 then return; end if;
  perform unfold_calls(p_account_id, v_ids);

  -- The CRM may be recording the outcome of one.
  foreach v_id in array v_ids loop
    select c.lead_id into v_lead from calls c where c.account_id = p_account_id and c.id = v_id for update;
    if v_lead is not null and v_lead <> all (v_leads) then
      v_leads := v_leads || v_lead;
    end if;
  end loop;
  -- The outcomes stay on the leads' timelines. Once for each lead, because each of its calls would read all its entries.
  foreach v_lead in array v_leads loop
    update lead_timeline t
      set data = (t.data::jsonb - array['keys', 'collected', 'transcript', 'recordingUrl'])::json
      where t.account_id = p_account_id and t.lead_id = v_lead and t.kind = 'call'
        and t.data ->> 'callId' = any (v_ids::text[]);
  end loop;
  -- One by one: the ids may be far apart, and with a list of ids PostgreSQL before 17 may read all that the
  -- account has.
  foreach v_id in array v_ids loop
    delete from jobs j
      where j.account_id = p_account_id and j.kind = 'crm.record_call' and j.subject = 'call:' || v_id
        and j.lease_until is null;
    delete from call_legs l where l.account_id = p_account_id and l.call_id = v_id;
    delete from call_events e where e.account_id = p_account_id and e.call_id = v_id;
    delete from call_menu_steps s where s.account_id = p_account_id and s.call_id = v_id;
    delete from call_transcripts t where t.account_id = p_account_id and t.call_id = v_id;
    delete from call_messages m where m.account_id = p_account_id and m.call_id = v_id;
    delete from call_commands k where k.account_id = p_account_id and k.call_id = v_id;
    delete from calls c where c.account_id = p_account_id and c.id = v_id;
  end loop;

  -- A request for another attempt locks the campaign too, and then finds no call to repeat.
  foreach v_id in array v_campaigns loop
    perform from call_campaigns m
      where m.account_id = p_account_id and m.id = v_id and m.kind in ('click_to_call', 'incoming')
      for update;
    -- In a statement of its own: the one that waits for the lock does not see the attempt.
    if not found or exists (
      select from calls c where c.account_id = p_account_id and c.campaign_id = v_id) then
      continue;
    end if;
    delete from click_to_calls p where p.account_id = p_account_id and p.campaign_id = v_id;
    delete from call_campaigns m where m.account_id = p_account_id and m.id = v_id;
  end loop;
end $$;
