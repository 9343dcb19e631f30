-- What a chat campaign sent in each minute of the last day, and the reasons of its failures.

-- A ring of one day: a row is overwritten by the same minute of a later day, so that nothing needs to be purged.
create table chat_minutes (
  account_id bigint not null,
  campaign_id bigint not null,
  -- As in chat_counts: writers do not wait for each other.
  slot text not null,
  minute_of_day int not null,
  minute timestamptz not null,
  sent int not null,
  delivered int not null,
  failed int not null,
  primary key (account_id, campaign_id, slot, minute_of_day)
) with (fillfactor = 50);

-- Counts failures by reason without reading the campaign. Only failures have an entry.
create index chat_recipients_failed on chat_recipients (account_id, campaign_id, error) include (state)
  where state in ('refused', 'unresolved', 'undelivered', 'skipped');
create index voice_recipients_failed on voice_recipients (account_id, campaign_id, id)
  where state in ('failed', 'skipped');
