-- As the function of this name on PostgreSQL. Citus refuses a look-up for each move in one statement, so the wanted types
-- and the recipients are read by statements of their own, and the events inserted from variables.
create or replace function record_message_events(
  p_account_id bigint, p_moved chat_moved[], p_moves chat_move[], p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_types text[];
  v_campaign_ids bigint[];
  v_ids bigint[];
  v_recipients json;
begin
  v_types := array(
    select distinct unnest(coalesce(c.types,
      '{chat.message.sent,chat.message.delivered,chat.message.read,chat.message.failed}'))
    from callback_endpoints c
    where c.account_id = p_account_id and c.deleted_at is null and c.kind = 'account');
  select array_agg(distinct v.campaign_id), array_agg(v.id) into v_campaign_ids, v_ids
  from unnest(p_moved) v;
  select json_agg(json_build_object('campaign_id', r.campaign_id, 'id', r.id, 'phone', r.phone, 'bsuid', r.bsuid,
    'provider_message_id', r.provider_message_id, 'error_code', r.error_code, 'error', r.error))
  into v_recipients from chat_recipients r
  where r.account_id = p_account_id and r.campaign_id = any (v_campaign_ids) and r.id = any (v_ids);

  insert into events (account_id, type, occurred_at, data)
  select p_account_id, t.type, coalesce(m.at, p_now), json_build_object(
    'campaign_id', r.campaign_id, 'recipient_id', r.id, 'phone_number', r.phone, 'bsuid', r.bsuid, 'status', t.status,
    'provider_message_id', r.provider_message_id, 'error_code', r.error_code, 'error', r.error,
    'at', to_char(coalesce(m.at, p_now) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from unnest(p_moved) with ordinality v
  join (values
    ('sent', 'chat.message.sent', 'sent'), ('delivered', 'chat.message.delivered', 'delivered'),
    ('read', 'chat.message.read', 'read'), ('refused', 'chat.message.failed', 'failed'),
    ('undelivered', 'chat.message.failed', 'failed'), ('unresolved', 'chat.message.failed', 'failed'),
    ('skipped', 'chat.message.failed', 'skipped')) t (to_state, type, status) on t.to_state = v.to_state
  join unnest(p_moves) m on m.campaign_id = v.campaign_id and m.id = v.id
  join json_to_recordset(v_recipients) r (campaign_id bigint, id bigint, phone text, bsuid text,
    provider_message_id text, error_code int, error text) on r.campaign_id = v.campaign_id and r.id = v.id
  where t.type = any (v_types)
  order by v.ordinality;
end $$;
