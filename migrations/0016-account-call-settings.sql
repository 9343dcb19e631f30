-- What an account decides of its calls, and what its operator allows it.

alter table accounts
  -- With night calling, calls may be placed at any time; without, only from the one to the other,
  -- in the account's zone, across midnight where they say so. 00:00 to 24:00 is always; equal is never.
  add column night_calling boolean not null default false,
  add column calling_from time not null default '09:00',
  add column calling_to time not null default '21:00',
  add column calls_recorded boolean not null default true,
  add column agent_ring_seconds int not null default 30 check (agent_ring_seconds between 5 and 120),
  add column customer_ring_seconds int not null default 45 check (customer_ring_seconds between 5 and 120),
  -- The message that goes with a call when it is asked for (enable_chat).
  add column call_notice_chat_number_id bigint,
  add column call_notice_template_id bigint,
  add constraint accounts_call_notice check (
    (call_notice_chat_number_id is null) = (call_notice_template_id is null)),
  -- The operator's: one credit a started pulse and leg.
  add column call_pulse_seconds int not null default 60 check (call_pulse_seconds between 1 and 3600);
