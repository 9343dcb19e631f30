-- Reports of messages from counts by campaign and quarter-hour, instead of from recipients, replies and the ledger.
-- Changed in the transaction of what they count (chat_move_recipients, retry_chat_recipients, record_chat_replies). They
-- stay when retention deletes the recipients.
--
-- A recipient counts at its last dispatch, or else at its end. Without either it is not counted here, but is the rest of
-- its campaign's total. The day of every time zone begins with a quarter-hour.
create table chat_report_counts (
  account_id bigint not null,
  campaign_id bigint not null,
  -- Of the campaign; of a reply, the number that received it.
  chat_number_id bigint not null,
  begins_at timestamptz not null,
  -- As in chat_counts: writers do not wait for each other.
  slot text not null,
  sent int not null default 0,
  delivered int not null default 0,
  read int not null default 0,
  failed int not null default 0,
  pending int not null default 0,
  -- Captures minus refunds.
  credits int not null default 0,
  replies int not null default 0,
  opt_outs int not null default 0,
  primary key (account_id, campaign_id, begins_at, slot, chat_number_id)
) with (fillfactor = 50);

create index chat_report_counts_by_time on chat_report_counts (account_id, begins_at);
