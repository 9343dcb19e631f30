-- Why a leg was not dialed, such as a cap or a suppression of the agent's number; null: it was dialed.
alter table call_legs add column blocker text;
