-- The applier of providers' reports.

-- Its rows live for seconds: compressing them costs more than they weigh.
alter table chat_inbox alter column body set storage external;

-- Whose message a reply answers that names none: who replies has it, and what is neither delivered
-- nor read has no entry, so that neither intake nor sender pays for this.
create index chat_recipients_by_phone
  on chat_recipients (account_id, phone, dispatched_at) where state in ('delivered', 'read');

create index chat_replies_by_phone on chat_replies (account_id, phone, id);
create index chat_replies_opted_out on chat_replies (account_id, id) where opted_out;

create type chat_reply as (
  provider_message_id text,
  phone text,
  type text,
  text text,
  payload text,
  -- The provider's id of the message it answers; null where the customer named none.
  answers text,
  opted_out boolean,
  at timestamptz
);
