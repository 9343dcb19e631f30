-- As the function of this name on PostgreSQL. Citus refuses a look-up for each reply in one statement.
create or replace function record_chat_replies(p_account_id bigint, p_number_id bigint, p_replies json)
returns setof chat_replies
language plpgsql as $$
declare
  v_r record;
  v_reply chat_replies;
  v_phone text;
  v_phones text[];
  v_alias text;
  v_since timestamptz;
  v_until timestamptz;
  v_quarter timestamptz;
  v_data json;
begin
  for v_r in
    select r.* from json_populate_recordset(null::chat_reply, p_replies) r order by r.provider_message_id
  loop
    v_reply := null;
    v_phone := v_r.phone;
    if v_phone is null then
      select b.phone_key into v_phone from person_bsuids b
        where b.account_id = p_account_id and b.bsuid = v_r.bsuid;
    end if;
    select m.campaign_id, m.id into v_reply.campaign_id, v_reply.recipient_id from chat_recipients m
      where m.account_id = p_account_id and m.provider_message_id = v_r.answers limit 1;
    if v_reply.recipient_id is null then
      v_phones := coalesce(phone_spellings(v_phone), '{}');
      for v_alias in
        select a.alias_key from phone_aliases a
        where a.account_id = p_account_id and a.phone_key = phone_key(v_phone)
      loop
        v_phones := v_phones || phone_spellings(v_alias);
      end loop;
      v_since := v_r.at - interval '24 hours';
      -- The provider's clock and ours may differ.
      v_until := v_r.at + interval '1 minute';
      select m.campaign_id, m.id into v_reply.campaign_id, v_reply.recipient_id
      from (
        select m.campaign_id, m.id, m.state, m.accepted_at from chat_recipients m
        where m.account_id = p_account_id and m.phone = any (v_phones) and m.accepted_at is not null
        union all
        select m.campaign_id, m.id, m.state, m.accepted_at from chat_recipients m
        where m.account_id = p_account_id and m.bsuid = v_r.bsuid) m
      join chat_campaigns c on c.account_id = p_account_id and c.id = m.campaign_id
      where m.state in ('accepted', 'sent', 'delivered', 'read') and m.accepted_at > v_since
        and m.accepted_at <= v_until and c.chat_number_id = p_number_id
      order by m.accepted_at desc limit 1;
    end if;
    insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, bsuid, type, text, payload,
      content, campaign_id, recipient_id, opted_out, received_at)
    values (p_account_id, p_number_id, v_r.provider_message_id, v_phone, v_r.bsuid, v_r.type, v_r.text, v_r.payload,
      v_r.content, v_reply.campaign_id, v_reply.recipient_id, v_r.opted_out, v_r.at)
    on conflict (account_id, provider_message_id) do nothing
    returning * into v_reply;
    continue when not found;
    if v_reply.campaign_id is not null then
      v_quarter := date_bin('15 minutes', v_reply.received_at, 'epoch');
      insert into chat_report_counts as n
        (account_id, campaign_id, chat_number_id, begins_at, slot, replies, opt_outs)
      values (p_account_id, v_reply.campaign_id, p_number_id, v_quarter, 'inbound', 1, v_reply.opted_out::int)
      on conflict (account_id, campaign_id, begins_at, slot, chat_number_id) do update set
        replies = n.replies + excluded.replies, opt_outs = n.opt_outs + excluded.opt_outs;
    end if;
    v_data := json_build_object(
      'reply_id', v_reply.id, 'chat_number_id', v_reply.chat_number_id, 'phone_number', v_reply.phone,
      'bsuid', v_reply.bsuid, 'type', v_reply.type, 'text', v_reply.text, 'payload', v_reply.payload,
      'content', v_reply.content, 'campaign_id', v_reply.campaign_id, 'recipient_id', v_reply.recipient_id,
      'opted_out', v_reply.opted_out,
      'received_at', to_char(v_reply.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
    insert into events (account_id, type, occurred_at, data)
    values (p_account_id, 'chat.reply.received', v_reply.received_at, v_data);
    return next v_reply;
  end loop;
end
$$;
