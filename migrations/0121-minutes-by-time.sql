-- transaction: per statement
-- The overview adds up today's minutes of all campaigns, also of those that finished long ago: statuses arrive later. An
-- entry is written for each row's first message of a minute, and the other updates of the minute stay HOT.
create index concurrently if not exists chat_minutes_by_minute on chat_minutes (account_id, minute);
