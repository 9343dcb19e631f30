-- Credentials of accounts that have an access token, or a Meta app, of their own. An account without a row uses the
-- installation's. The values are sealed (server/lib/secrets).
create table whatsapp_credentials (
  account_id bigint primary key references accounts (account_id),
  access_token text not null,
  -- Of the account's own Meta app; null where the installation's app receives its webhooks.
  app_secret text,
  verify_token text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((app_secret is null) = (verify_token is null))
);
