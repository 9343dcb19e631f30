-- Customers' own calling hours, one live call per customer, and a limit of attempts per customer and day.

alter table accounts
  -- The most times in any 24 hours that a customer's phone is rung; null: no limit. The default is what one request
  -- may use alone (max_retry 3, customer_retry_count 3), so that only requests together reach it.
  add column calls_per_customer_day int default 7 check (calls_per_customer_day between 1 and 100);

-- Where the contact is, if known: replaces the zones of the phone's prefix.
alter table contacts add column time_zone text;
create index contacts_by_time_zone on contacts (account_id, phone_e164) where time_zone is not null;

alter table voice_recipients
  -- The zones the recipient may be in, joined by `&`; '': unknown.
  add column time_zones text not null default '',
  -- 0: a promised callback, 1: a retry, 2: a first call. Each gets its share of the calls.
  add column priority smallint not null generated always as (
    case when attempts = 0 then 2 when callbacks > 0 then 0 else 1 end) stored,
  add column skip_reason text;
drop index voice_recipients_due;
create index voice_recipients_due on voice_recipients (account_id, campaign_id, time_zones, priority, due_at, id)
  where state = 'waiting';
-- The distinct time_zones of its recipients.
alter table voice_campaigns add column time_zones text[] not null default '{""}';

alter table voice_recipients drop constraint voice_recipients_state_check;
alter table voice_recipients add check (state in ('synthesizing', 'waiting', 'calling',
  'answered', 'machine', 'busy', 'no_answer', 'failed', 'suppressed', 'skipped', 'cancelled'));
alter table voice_counts add column skipped int not null default 0;

-- One live call per customer, whoever calls: taken when the call is placed, given up when it ends.
create table live_customers (
  account_id bigint not null,
  phone_key text not null,
  call_id bigint not null,
  primary key (account_id, phone_key)
);
insert into live_customers (account_id, phone_key, call_id)
  select account_id, to_phone, min(call_id) from call_pairs group by account_id, to_phone;
drop table call_pairs;

-- Their files in functions/ have the new signatures.
drop function if exists claim_recipients(bigint, bigint, bigint, bigint, int, text, timestamptz);
drop function if exists find_dialable(bigint[], timestamptz);
drop function if exists claim_calls(bigint, bigint, bigint, bigint, int, timestamptz);
drop function if exists place_recipients(voice_campaigns, int[], bigint, bigint, text, timestamptz);
