-- News that nobody recorded so far: of messages, while an endpoint wants it, and of credit that runs low.

-- What an account wants to be told of its credit: when less than this is available. 0: never.
alter table accounts
  add column chat_credit_low bigint not null default 100 check (chat_credit_low >= 0),
  add column call_credit_low bigint not null default 100 check (call_credit_low >= 0);

-- What was told that it fell below, until a grant lifts it above again. A threshold that was lowered since
-- is one more to fall below.
alter table credit_balances add column low bigint;
