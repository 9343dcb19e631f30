-- Failures that the provider reports after it accepted a message, and holds that end at a time.

-- The error that put the recipient off last: attempts are counted by it, also across an acceptance.
alter table chat_recipients add column retry_error text;

-- Failures for a reason of the recipient alone, counted as they happen: the circuit breaker ignores them.
alter table chat_counts add column recipient_failures int not null default 0;
alter type chat_move add attribute recipient_side boolean;

-- A reported failure that is retried; the credit stays captured meanwhile.
insert into chat_transitions (from_state, to_state, ledger) values
  ('accepted', 'deferred', ''),
  ('unknown', 'deferred', '');

-- Null: until it is lifted.
alter table chat_holds add column ends_at timestamptz;
alter table chat_holds drop constraint chat_holds_reason_check;
alter table chat_holds add constraint chat_holds_reason_check check (reason in
  ('manual', 'error_threshold', 'credit', 'template_paused', 'sender_restricted', 'throttled', 'quiet_time', 'auth'));
create index chat_holds_ending on chat_holds (set_at) where ends_at is not null;
