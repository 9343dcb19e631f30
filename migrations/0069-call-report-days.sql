-- transaction: per statement
-- Reports of calls from one row per day, campaign, number and agent instead of from each call. Days are folded when
-- they are over and all their calls have ended (server/reports/fold-calls.ts).

alter table accounts add column report_due_at timestamptz not null default 'epoch';
create index concurrently if not exists accounts_by_report on accounts (report_due_at, account_id);

-- A folded day of the account's time zone: its counts equal those of its calls. Whatever changes these calls deletes the
-- day (unfold_calls), which is then counted from its calls until it is folded again.
create table call_report_days (
  account_id bigint not null references accounts,
  begins_at timestamptz not null,
  ends_at timestamptz not null,
  primary key (account_id, begins_at)
);

create table call_report_counts (
  account_id bigint not null,
  begins_at timestamptz not null,
  place int not null,
  type text not null,
  -- Of a voice campaign only.
  campaign_id bigint,
  -- The caller ID; if null, the default of the trunk.
  caller text,
  trunk_id bigint,
  agent text,
  calls bigint not null,
  answered bigint not null,
  machine bigint not null,
  busy bigint not null,
  no_answer bigint not null,
  failed bigint not null,
  canceled bigint not null,
  connected bigint not null,
  talks bigint not null,
  talk_seconds bigint not null,
  ring_seconds bigint not null,
  billed_seconds bigint not null,
  cost bigint not null,
  primary key (account_id, begins_at, place),
  foreign key (account_id, begins_at) references call_report_days on delete cascade
);
