-- transaction: per statement
-- The list of calls by type. The expression is the one of the list's filter (server/calls/records/call-records.ts);
-- no other index of calls has the type.
create index concurrently if not exists calls_by_type on calls (
  account_id,
  (case when direction = 'inbound' then 'incoming' when recipient_id is null then 'click_to_call' else 'voice_campaign' end),
  queued_at,
  id
);
