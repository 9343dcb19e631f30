-- Records the outcomes of messages sent and marks the campaign's next recipients as dispatching, in one autocommit call
-- under the number's lease. Marks none while a hold applies, or the account is frozen or has lost the feature bulk_chat.
-- Recipients suppressed since, under their number or an alias of it, are skipped; a suppression of marketing applies
-- unless the template's category is another one. So are those who are in the campaign under an alias, too, and have or
-- may have the message there, or wait for it before.
-- Returns those marked and skipped; those marked must be sent at once or given back.
-- p_aliases: other numbers under which the provider knows recipients; null in most calls.
-- p_after: there are no queued recipients up to this id; skips dead index entries.
create or replace function record_and_claim_messages(
  p_account_id bigint, p_number_id bigint, p_fence bigint, p_results json,
  p_campaign_id bigint, p_take int, p_after bigint, p_now timestamptz, p_aliases json default null
) returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  -- Few calls have any.
  v_has_deferred constant boolean := p_results::text like '%"deferred"%';
  v_moves chat_move[];
  v_picked chat_move[];
  v_is_marketing boolean;
  -- Most accounts have none.
  v_has_aliases boolean;
  v_without_message constant text[] := '{refused,undelivered,skipped,cancelled}';
begin
  perform check_lease(p_account_id, 'chat_sender:' || p_number_id, p_fence);

  if v_has_deferred then
    -- Before their recipients, as move_deferred_recipients requires.
    perform from chat_campaigns c
      where c.account_id = p_account_id and c.id = any (array(
        select m.campaign_id from json_populate_recordset(null::chat_move, p_results) m where m.state = 'deferred'))
      order by c.id for no key update;
  end if;

  if p_aliases is not null then
    perform record_phone_aliases(p_account_id, p_aliases);
  end if;

  if p_take > 0 then
    select coalesce((
      select t.category = 'MARKETING' from chat_templates t
      where t.account_id = p_account_id and t.id = c.template_id), true)
    into v_is_marketing
    from chat_campaigns c
    where c.account_id = p_account_id and c.id = p_campaign_id and c.state = 'running'
      and exists (
        select from accounts a
        where a.account_id = p_account_id and a.frozen_at is null and 'bulk_chat' = any (a.features))
      and not exists (
        select from chat_holds h
        where h.account_id = p_account_id and (
          (h.scope = 'campaign' and h.subject_id = c.id) or (h.scope = 'template' and h.subject_id = c.template_id)
          or (h.scope = 'number' and h.subject_id = c.chat_number_id) or h.scope = 'account'));
  end if;
  if v_is_marketing is not null then
    v_has_aliases := exists (select from phone_aliases a where a.account_id = p_account_id);
    with due as materialized (
      select r.id, r.phone, r.bsuid, r.dispatches from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id
        and r.due_at is not null and r.state = 'deferred' and r.due_at <= p_now
      order by r.due_at limit p_take
      for no key update skip locked
    ), fresh as materialized (
      select r.id, r.phone, r.bsuid, r.dispatches from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id
        and r.accepted_at is null and r.ended_at is null and r.state = 'queued' and r.id > p_after
      order by r.id limit greatest(p_take - (select count(*) from due), 0)
      for no key update skip locked
    ), picked as (
      select * from due union all select * from fresh
    ), checked as (
      select p.*, case when exists (
        select from (
          select w.person_key
          union all
          select a.alias_key from phone_aliases a where a.account_id = p_account_id and a.phone_key = w.person_key) k
        join suppressions s on s.account_id = p_account_id and s.person_key = k.person_key
        where s.channel in ('all', 'chat')
          and (s.scope = 'all' or v_is_marketing)
          and (s.expires_at is null or s.expires_at > p_now)) then 'suppressed'
      when v_has_aliases and exists (
        select from phone_aliases a
        cross join lateral (
          select r.id, r.state from chat_recipients r
          where r.account_id = p_account_id and r.campaign_id = p_campaign_id
            and r.phone = any (phone_spellings(a.alias_key))
          union all
          select r.id, r.state from person_bsuids b
          -- By the index of user IDs: the one of a campaign has all of its user IDs.
          cross join lateral (
            select r.id, r.state, r.campaign_id from chat_recipients r
            where r.account_id = p_account_id and r.bsuid = b.bsuid offset 0) r
          where b.account_id = p_account_id and b.phone_key = a.alias_key and r.campaign_id = p_campaign_id) r
        where a.account_id = p_account_id and a.phone_key = w.person_key
          and not r.state = any (v_without_message)
          -- Its refusal may be among the results, which are recorded below.
          and not r.id = any (array(
            select m.id from json_populate_recordset(null::chat_move, p_results) m
            where m.campaign_id = p_campaign_id and m.state = any (v_without_message)))
          -- Of those that wait, the first one is sent.
          and (r.id < p.id or r.state not in ('queued', 'deferred'))) then 'duplicate' end as error
      from picked p
      cross join lateral (
        select coalesce(phone_key(p.phone), (
          select b.phone_key from person_bsuids b where b.account_id = p_account_id and b.bsuid = p.bsuid),
          'bsuid:' || p.bsuid) as person_key) w
    )
    select array_agg(row(p_campaign_id, j.id, j.dispatches,
      case when j.error is null then 'dispatching' else 'skipped' end, null, null, j.error, null, null, null)::chat_move)
    into v_picked from checked j;
  end if;

  v_moves := (
    select array_agg(x.e order by (x.e).campaign_id, (x.e).id) from (
      select m as e from json_populate_recordset(null::chat_move, p_results) m
      union all select u from unnest(v_picked) u) x);
  if v_has_deferred then
    return query select m.* from move_deferred_recipients(p_account_id, v_moves, p_now) m
      where m.to_state in ('dispatching', 'skipped');
  else
    return query select m.* from chat_move_recipients_with_events(p_account_id, 'sender', v_moves, p_now) m
      where m.to_state in ('dispatching', 'skipped');
  end if;
end $$;
