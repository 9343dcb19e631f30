-- The stored answers of writes that carried an Idempotency-Key: written in the transaction of
-- the effect, so an answer exists exactly when its effect does.

create table idempotency_keys (
  account_id bigint not null,
  endpoint text not null,
  key text not null,
  -- Of the parsed request in canonical form: what a repeated key is compared by.
  request_sha256 bytea not null,
  status int not null,
  response text not null,
  created_at timestamptz not null,
  primary key (account_id, endpoint, key)
);
