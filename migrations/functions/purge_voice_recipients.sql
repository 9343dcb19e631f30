-- Deletes recipients and rejected rows of voice campaigns that finished before p_before: at most p_rows_max
-- rows.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch.
-- Deletes are bounded besides their list of ids: PostgreSQL before 17 may read all that the account has and
-- filter by the list, when accounts are small on average.
create or replace function purge_voice_recipients(
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
  v_campaign voice_campaigns;
  v_ids int[];
  v_rows int[];
begin
  deleted := 0;
  more := true;
  while deleted < p_rows_max loop
    select * into v_campaign from voice_campaigns v
      where v.account_id = p_account_id and v.finished_at < p_before and not v.purged
      order by v.finished_at, v.id limit 1
      for no key update;
    if not found then
      more := false;
      exit;
    end if;
    v_ids := array(
      select r.id from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id > v_campaign.purged_to
      order by r.id limit p_rows_max - deleted
      for update);
    delete from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id = any (v_ids)
        and r.id between v_ids[1] and v_ids[cardinality(v_ids)];
    deleted := deleted + cardinality(v_ids);
    if deleted < p_rows_max then
      v_rows := array(
        select j.row from voice_rejects j
        where j.account_id = p_account_id and j.campaign_id = v_campaign.id
        order by j.row limit p_rows_max - deleted);
      delete from voice_rejects j
        where j.account_id = p_account_id and j.campaign_id = v_campaign.id and j.row = any (v_rows)
          and j.row between v_rows[1] and v_rows[cardinality(v_rows)];
      deleted := deleted + cardinality(v_rows);
    end if;
    update voice_campaigns v set purged_at = coalesce(v.purged_at, p_now),
        purged_to = coalesce(v_ids[cardinality(v_ids)], v.purged_to),
        purged = deleted < p_rows_max
      where v.account_id = p_account_id and v.id = v_campaign.id;
  end loop;
end $$;
