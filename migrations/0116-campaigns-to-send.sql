-- transaction: per statement
-- A sender polls its number's campaigns each second, without those that are scheduled. The state is in the condition of
-- chat_campaigns_due, too, so that no more updates write all indexes.
create index concurrently if not exists chat_campaigns_started on chat_campaigns (account_id, chat_number_id, id)
  where finished_at is null and state <> 'scheduled';
