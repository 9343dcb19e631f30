-- A refusal that a sender knows but can only record after another one has taken over and marked the message as of unknown
-- outcome. The message was never sent, so its credit is returned.
insert into chat_transitions (from_state, to_state, ledger) values
  ('unknown', 'refused', 'release'),
  ('unresolved', 'refused', 'refund');
