-- transaction: per statement
-- Counts how many of the busy recipients declined, without reading the campaign. Only busy recipients have an entry.
create index concurrently if not exists voice_recipients_busy on voice_recipients (account_id, campaign_id, id)
  where state = 'busy';
