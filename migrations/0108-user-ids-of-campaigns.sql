-- transaction: per statement
-- Finds the recipients of a campaign that are known by a BSUID. Its columns never change.
create index concurrently if not exists chat_recipients_bsuids on chat_recipients (account_id, campaign_id)
  where bsuid is not null;
