-- What an account decides of its chat campaigns, and what its operator allows it.

alter table accounts
  -- Requests a minute that may create campaigns: the operator's to change.
  add column chat_writes_a_minute int not null default 300
    check (chat_writes_a_minute between 1 and 100000),
  -- Trim numbers that are possible but not valid, too.
  add column chat_valid_numbers_only boolean not null default false,
  -- Replies that opt out; compared without case.
  add column chat_stop_words text[] not null default '{STOP,UNSUBSCRIBE,CANCEL,END,QUIT,OPT OUT}'
    check (cardinality(chat_stop_words) <= 50),
  -- No messages from the one to the other, local to the account's zone, across midnight where
  -- they say so; null is off.
  add column chat_quiet_from time,
  add column chat_quiet_to time,
  add constraint accounts_chat_quiet check (
    (chat_quiet_from is null) = (chat_quiet_to is null) and chat_quiet_from <> chat_quiet_to),
  -- A campaign pauses when this share of its last attempts failed.
  add column chat_error_percent int not null default 20 check (chat_error_percent between 1 and 100);
