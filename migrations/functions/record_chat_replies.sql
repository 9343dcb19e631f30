-- Records replies once each, with the recipient they answer: the one named by the reply, else the last
-- message from this number to that person, in any spelling of the phone or an alias, or by BSUID, within the day before
-- the reply. A reply can be applied before the delivery status of its message, or after later messages.
-- Counts them for reports and records their events. Returns the new ones.
create or replace function record_chat_replies(p_account_id bigint, p_number_id bigint, p_replies json)
returns setof chat_replies
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  return query with recorded as (
    insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, bsuid, type, text, payload,
      content, campaign_id, recipient_id, opted_out, received_at)
    select p_account_id, p_number_id, r.provider_message_id, coalesce(r.phone, linked.phone_key), r.bsuid, r.type,
      r.text, r.payload, r.content,
      coalesce(named.campaign_id, latest.campaign_id), coalesce(named.id, latest.id), r.opted_out, r.at
    from json_populate_recordset(null::chat_reply, p_replies) r
    left join person_bsuids linked
      on r.phone is null and linked.account_id = p_account_id and linked.bsuid = r.bsuid
    left join lateral (
      select m.campaign_id, m.id from chat_recipients m
      where m.account_id = p_account_id and m.provider_message_id = r.answers
      limit 1) named on true
    left join lateral (
      select m.campaign_id, m.id from (
        select m.* from chat_recipients m
        where m.account_id = p_account_id and m.phone = any (phone_spellings(coalesce(r.phone, linked.phone_key)))
          and m.accepted_at is not null
        union all
        select m.* from phone_aliases a
        join chat_recipients m on m.account_id = p_account_id and m.phone = any (phone_spellings(a.alias_key))
          and m.accepted_at is not null
        where a.account_id = p_account_id and a.phone_key = phone_key(coalesce(r.phone, linked.phone_key))
        union all
        select m.* from chat_recipients m
        where m.account_id = p_account_id and m.bsuid = r.bsuid) m
      join chat_campaigns c on c.account_id = p_account_id and c.id = m.campaign_id
      where named.id is null
        and m.state in ('accepted', 'sent', 'delivered', 'read') and m.accepted_at > r.at - interval '24 hours'
        -- The provider's clock and ours may differ.
        and m.accepted_at <= r.at + interval '1 minute' and c.chat_number_id = p_number_id
      order by m.accepted_at desc
      limit 1) latest on true
    order by r.provider_message_id
    on conflict (account_id, provider_message_id) do nothing
    returning *
  ), reported as (
    insert into chat_report_counts as n (account_id, campaign_id, chat_number_id, begins_at, slot, replies, opt_outs)
    select p_account_id, r.campaign_id, p_number_id, date_bin('15 minutes', r.received_at, 'epoch'), 'inbound', count(*),
      count(*) filter (where r.opted_out)
    from recorded r
    where r.campaign_id is not null
    group by 2, 4
    order by 2, 4
    on conflict (account_id, campaign_id, begins_at, slot, chat_number_id) do update set
      replies = n.replies + excluded.replies, opt_outs = n.opt_outs + excluded.opt_outs
  ), events as (
    insert into events (account_id, type, occurred_at, data)
    select p_account_id, 'chat.reply.received', r.received_at, json_build_object(
      'reply_id', r.id, 'chat_number_id', r.chat_number_id, 'phone_number', r.phone, 'bsuid', r.bsuid,
      'type', r.type, 'text', r.text, 'payload', r.payload, 'content', r.content,
      'campaign_id', r.campaign_id, 'recipient_id', r.recipient_id, 'opted_out', r.opted_out,
      'received_at', to_char(r.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from recorded r
    order by r.id
  )
  select * from recorded;
end $$;
