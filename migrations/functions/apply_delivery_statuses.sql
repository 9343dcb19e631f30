-- Applies a batch of chat_inbox rows under the number's lease: moves, replies, deletion of the processed rows
-- (p_done), and new rows for what can only be applied later (p_later). Returns the recipients that moved. One
-- autocommit call, so that a frozen process holds no locks.
--
-- A move to deferred is a reported failure that is retried: it reopens a completed campaign. It is an ordinary
-- failure if the campaign was cancelled, has failed or is purged, if its number is inactive, if the campaign is completed
-- and its template is deleted, disabled or rejected, or if the recipient is past retrying.
create or replace function apply_delivery_statuses(
  p_account_id bigint, p_number_id bigint, p_fence bigint,
  p_moves json, p_replies json, p_done bigint[], p_later json, p_now timestamptz
) returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_moves chat_move[];
  v_retried bigint[];
  v_usable_templates bigint[];
  v_is_active boolean;
  v_open bigint[];
  v_completed bigint[];
  v_reopened bigint[];
  v_moved chat_moved[];
begin
  perform check_lease(p_account_id, 'chat_inbound:' || p_number_id, p_fence);
  delete from chat_inbox i where i.account_id = p_account_id and i.id = any (p_done);
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
    select p_account_id, p_number_id, l.driver, l.body, l.received_at, l.due_at
    from json_to_recordset(p_later)
      l (driver text, body json, received_at timestamptz, due_at timestamptz);
  perform record_chat_replies(p_account_id, p_number_id, p_replies);

  select array_agg(m order by m.campaign_id, m.id), array_agg(m.campaign_id) filter (where m.state = 'deferred')
  into v_moves, v_retried from json_populate_recordset(null::chat_move, p_moves) m;
  if v_retried is null then
    return query select * from chat_move_recipients_with_events(p_account_id, 'inbound', v_moves, p_now);
    return;
  end if;

  -- Locks the templates, before their campaigns: none is deleted or disabled meanwhile.
  select array_agg(l.id) into v_usable_templates from (
    select t.id from chat_templates t
    where t.account_id = p_account_id and t.status not in ('DISABLED', 'REJECTED') and t.id in (
      select c.template_id from chat_campaigns c where c.account_id = p_account_id and c.id = any (v_retried))
    order by t.id for share) l;
  -- Locks the number: it is not deactivated meanwhile.
  perform from chat_numbers n
    where n.account_id = p_account_id and n.id = p_number_id and n.active for key share;
  v_is_active := found;
  -- Campaigns are locked before their recipients, so that none is completed meanwhile.
  select array_agg(l.id), array_agg(l.id) filter (where l.state = 'completed') into v_open, v_completed from (
    select c.id, c.state from chat_campaigns c
    where c.account_id = p_account_id and c.id = any (v_retried)
      and c.state in ('running', 'completed') and c.purged_at is null and v_is_active
      and (c.state = 'running' or c.template_id is null or c.template_id = any (v_usable_templates))
    order by c.id for no key update) l;
  select array_agg((m.campaign_id, m.id, m.dispatches,
    case when m.state = 'deferred' and m.campaign_id <> all (coalesce(v_open, '{}')) then 'undelivered' else m.state end,
    m.provider_message_id, m.error_code, m.error, m.due_at, m.at, m.recipient_side)::chat_move
    order by m.campaign_id, m.id)
  into v_moves from unnest(v_moves) m;
  select array_agg(v) into v_moved
  from chat_move_recipients_with_events(p_account_id, 'inbound', v_moves, p_now) v;
  -- These recipients are locked already.
  select array_agg((m.campaign_id, m.id, m.dispatches, 'undelivered', m.provider_message_id, m.error_code, m.error,
    null, m.at, m.recipient_side)::chat_move order by m.campaign_id, m.id)
  into v_moves from unnest(v_moves) m
  where m.state = 'deferred'
    and not exists (select from unnest(v_moved) v where v.campaign_id = m.campaign_id and v.id = m.id);
  v_moved := v_moved || array(
    select v from chat_move_recipients_with_events(p_account_id, 'inbound', v_moves, p_now) v);

  v_reopened := array(select distinct v.campaign_id from unnest(v_moved) v where v.to_state = 'deferred');
  update chat_campaigns c set state = 'running', finished_at = null, work_at = p_now
    where c.account_id = p_account_id and c.id = any (v_reopened);
  perform schedule_skip_duplicates(p_account_id, v_moved, p_now);
  insert into events (account_id, type, occurred_at, data)
  select p_account_id, case when r.reason is null then 'chat.campaign.resumed' else 'chat.campaign.paused' end, p_now,
    json_strip_nulls(json_build_object('campaign_id', r.id, 'name', r.name, 'paused_reason', r.reason))
  from (
    select c.id, c.name, (
      select h.reason from chat_holds h
      where h.account_id = p_account_id and (
        (h.scope = 'campaign' and h.subject_id = c.id) or (h.scope = 'template' and h.subject_id = c.template_id)
        or (h.scope = 'number' and h.subject_id = p_number_id) or h.scope = 'account')
      order by h.set_at desc limit 1) as reason
    from chat_campaigns c
    where c.account_id = p_account_id and c.id = any (v_reopened) and c.id = any (v_completed)) r
  order by r.id;
  return query select * from unnest(v_moved);
end $$;
