-- Records replies once each, with the recipient they answer: the one named by the reply, else the last
-- message from this number to that phone, in any spelling, within a day. Returns the new ones.
create or replace function record_chat_replies(p_account_id bigint, p_number_id bigint, p_replies json)
returns setof chat_replies
language sql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text, payload,
    campaign_id, recipient_id, opted_out, received_at)
  select p_account_id, p_number_id, r.provider_message_id, r.phone, r.type, r.text, r.payload,
    coalesce(named.campaign_id, latest.campaign_id), coalesce(named.id, latest.id), r.opted_out, r.at
  from json_populate_recordset(null::chat_reply, p_replies) r
  left join lateral (
    select m.campaign_id, m.id from chat_recipients m
    where m.account_id = p_account_id and m.provider_message_id = r.answers
    limit 1) named on true
  left join lateral (
    select m.campaign_id, m.id from chat_recipients m
    join chat_campaigns c on c.account_id = p_account_id and c.id = m.campaign_id
    where named.id is null and m.account_id = p_account_id and m.phone = any (phone_spellings(r.phone))
      and m.state in ('delivered', 'read') and m.dispatched_at > r.at - interval '24 hours'
      and c.chat_number_id = p_number_id
    order by m.dispatched_at desc
    limit 1) latest on true
  order by r.provider_message_id
  on conflict (account_id, provider_message_id) do nothing
  returning *
$$;
