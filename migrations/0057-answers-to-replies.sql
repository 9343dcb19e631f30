-- What users answered to a customer's message. With the reply, so that retention and erasure end both.
alter table chat_replies add column answers jsonb not null default '[]';
