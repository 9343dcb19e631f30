-- Deletes recipients and replies of chat campaigns that finished before p_before, and older replies without a
-- campaign and unread webhooks: at most p_rows_max rows. The campaigns' counts stay. A backlog of replies is deleted from
-- where the last batch ended. The caller has locked the account.
-- Sorting is off: a plan made for a table without statistics would read all remaining rows in each batch.
-- Deletes are bounded besides their list of ids: PostgreSQL before 17 may read all that the account has and
-- filter by the list, when accounts are small on average.
create or replace function purge_messages(
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
  v_campaign chat_campaigns;
  v_ids bigint[];
  v_replies bigint[];
  v_from timestamptz;
  v_last timestamptz;
begin
  deleted := 0;
  more := true;
  while deleted < p_rows_max loop
    select * into v_campaign from chat_campaigns c
      where c.account_id = p_account_id and c.finished_at < p_before and not c.purged
      order by c.finished_at, c.id limit 1
      for no key update;
    if not found then
      more := false;
      exit;
    end if;
    v_replies := '{}';
    -- Locked in the order in which late delivery statuses lock them.
    v_ids := array(
      select r.id from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id > v_campaign.purged_to
      order by r.id limit p_rows_max - deleted
      for update);
    delete from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id = any (v_ids)
        and r.id between v_ids[1] and v_ids[cardinality(v_ids)];
    deleted := deleted + cardinality(v_ids);
    if deleted < p_rows_max then
      v_replies := array(
        select r.id from chat_replies r
        where r.account_id = p_account_id and r.campaign_id = v_campaign.id
        order by r.id limit p_rows_max - deleted);
      delete from chat_replies r
        where r.account_id = p_account_id and r.id = any (v_replies)
          and r.id between v_replies[1] and v_replies[cardinality(v_replies)];
      deleted := deleted + cardinality(v_replies);
    end if;
    update chat_campaigns c set purged_at = coalesce(c.purged_at, p_now),
        purged_to = coalesce(v_ids[cardinality(v_ids)], c.purged_to),
        purged_replies = c.purged_replies + cardinality(v_replies),
        purged = deleted < p_rows_max
      where c.account_id = p_account_id and c.id = v_campaign.id;
  end loop;
  if more then return; end if;

  v_from := coalesce((
    select p.at from retention_positions p where p.account_id = p_account_id and p.setting = 'messages'), '-infinity');
  select coalesce(array_agg(o.id), '{}'), max(o.received_at) into v_replies, v_last from (
    select r.id, r.received_at from chat_replies r
    where r.account_id = p_account_id and r.campaign_id is null and r.received_at >= v_from and r.received_at < p_before
    order by r.received_at limit p_rows_max - deleted) o;
  delete from chat_replies r
    where r.account_id = p_account_id and r.id = any (v_replies)
      and r.id >= (select min(i) from unnest(v_replies) i) and r.id <= (select max(i) from unnest(v_replies) i);
  deleted := deleted + cardinality(v_replies);
  perform keep_retention_position(p_account_id, 'messages', v_last, null);
  -- The oldest by ID, because there is no index by time.
  v_ids := array(
    select u.id from (
      select o.id, o.received_at from chat_unread_webhooks o
      where o.account_id = p_account_id order by o.id limit p_rows_max - deleted) u
    where u.received_at < p_before);
  delete from chat_unread_webhooks u
    where u.account_id = p_account_id and u.id = any (v_ids)
      and u.id >= (select min(i) from unnest(v_ids) i) and u.id <= (select max(i) from unnest(v_ids) i);
  deleted := deleted + cardinality(v_ids);
  more := deleted = p_rows_max;
end $$;
