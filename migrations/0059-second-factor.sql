-- A second factor at the sign-in: codes of an authenticator app, and codes for when it is lost.

create table user_totp (
  account_id bigint not null references accounts,
  user_id bigint not null,
  -- Sealed.
  secret text not null,
  -- Null until a first code has shown that the app has the secret.
  confirmed_at timestamptz,
  -- The time step of the last code: no code counts twice.
  last_step bigint not null default 0,
  -- SHA-256 of those that are unused.
  recovery_codes bytea[] not null default '{}',
  created_at timestamptz not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
);
