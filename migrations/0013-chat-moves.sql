-- The two statements of the sending pipeline.

create type chat_move as (
  campaign_id bigint,
  id bigint,
  -- The dispatch this is about. Evidence of an earlier one counts only if it is good news.
  dispatches int,
  state text,
  provider_message_id text,
  error_code int,
  error text,
  -- Of deferred: when it is due; of unknown: when it is given up.
  due_at timestamptz,
  -- When it happened, by the provider's clock; null: now.
  at timestamptz
);

create type chat_moved as (
  campaign_id bigint,
  id bigint,
  from_state text,
  to_state text,
  ledger text,
  dispatches int,
  -- Of those that are dispatching, as are the following.
  phone text,
  variables jsonb,
  -- What put it off last, and how often in a row.
  error text,
  attempts int
);
