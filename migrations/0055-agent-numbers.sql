-- Which phones may be rung as agents: a stolen token must not ring any phone with a real carrier.

create table agent_numbers (
  account_id bigint not null references accounts,
  phone_key text not null,
  -- E.164 digits, as given.
  number text not null,
  name text,
  created_at timestamptz not null,
  primary key (account_id, phone_key)
);
-- A click-to-call asks whether its agent is a member of any group.
create index agent_group_members_by_number on agent_group_members (account_id, number);

-- Earlier trunks keep accepting every agent's number; new ones do not.
alter table trunks add column agent_numbers text not null default 'any'
  constraint trunks_agent_numbers_check check (agent_numbers in ('verified', 'any'));
alter table trunks alter column agent_numbers set default 'verified';
