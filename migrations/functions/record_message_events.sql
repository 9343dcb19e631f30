-- Records the events of moved recipients, of the types that an endpoint is subscribed to. Looks up each
-- recipient by its key, as chat_move_recipients does. Cancelled recipients have no event of their own: the
-- campaign has one.
create or replace function record_message_events(
  p_account_id bigint, p_moved chat_moved[], p_moves chat_move[], p_now timestamptz
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  insert into events (account_id, type, occurred_at, data)
  select p_account_id, t.type, coalesce(m.at, p_now), json_build_object(
    'campaign_id', r.campaign_id, 'recipient_id', r.id, 'phone_number', r.phone, 'bsuid', r.bsuid, 'status', t.status,
    'provider_message_id', r.provider_message_id, 'error_code', r.error_code, 'error', r.error,
    'at', to_char(coalesce(m.at, p_now) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from unnest(p_moved) v
  join (values
    ('sent', 'chat.message.sent', 'sent'), ('delivered', 'chat.message.delivered', 'delivered'),
    ('read', 'chat.message.read', 'read'), ('refused', 'chat.message.failed', 'failed'),
    ('undelivered', 'chat.message.failed', 'failed'), ('unresolved', 'chat.message.failed', 'failed'),
    ('skipped', 'chat.message.failed', 'skipped')) t (to_state, type, status) on t.to_state = v.to_state
  join unnest(p_moves) m on m.campaign_id = v.campaign_id and m.id = v.id
  cross join lateral (
    select * from chat_recipients r
    where r.account_id = p_account_id and r.campaign_id = v.campaign_id and r.id = v.id
    limit 1) r
  where exists (
    select from callback_endpoints c
    where c.account_id = p_account_id and c.deleted_at is null and c.kind = 'account'
      and (c.types is null or t.type = any (c.types)));
end $$;
