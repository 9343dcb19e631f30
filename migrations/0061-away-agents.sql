-- The agents that groups do not ring for a while.
create table away_agents (
  account_id bigint not null references accounts,
  -- An extension, or a phone number as E.164 digits, as agent legs store it.
  number text not null,
  since timestamptz not null,
  primary key (account_id, number)
);
