-- Caps on legs and credits per hour and day, of an account, of each token and of each phone number: an operator's
-- bound on what a stolen token costs and on how often a phone is rung.
alter table accounts add column call_caps jsonb not null default '{
  "account": {"legs_hour": 60000, "legs_day": 500000, "credits_hour": 120000, "credits_day": 1000000},
  "token": {"legs_hour": 40000, "legs_day": 300000, "credits_hour": 80000, "credits_day": 600000},
  "number": {"legs_hour": 60, "legs_day": 500, "credits_hour": 1000, "credits_day": 3000}}';
-- The token that submitted it; null for earlier ones, and for calls without a request.
alter table call_campaigns add column token_id bigint;
-- Credits reserved while the call went on, which call_usage counts at once.
alter table calls add column topped_up int not null default 0;
create table call_usage (
  account_id bigint not null,
  -- account, token:<id> or number:<phone key>
  subject text not null,
  hour timestamptz not null,
  -- 0: legs of click-to-calls and further legs; 1-4: credits, so that calls that end together do not wait for each
  -- other; 5: legs of campaigns.
  slot smallint not null,
  legs int not null default 0,
  credits bigint not null default 0,
  primary key (account_id, subject, hour, slot)
);

-- Its file in functions/ returns another row.
drop function if exists claim_calls(bigint, bigint, bigint, bigint, int, timestamptz);
