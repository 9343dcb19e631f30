-- transaction: per statement
-- A person's timeline reads replies by the time that the provider names: a late webhook has a new ID and an old time.
create index concurrently if not exists chat_replies_by_phone_and_time on chat_replies (account_id, phone, received_at, id);
-- Few replies have no phone.
create index concurrently if not exists chat_replies_by_bsuid_and_time on chat_replies (account_id, bsuid, received_at, id)
  where phone is null;
