-- transaction: per statement
-- Scripts are synthesized for one list of time zones at a time. Without the list, the synthesis would read all recipients
-- of the lists that have enough ahead, up to the first one of another list.
create index concurrently if not exists voice_recipients_zones_to_synthesize
  on voice_recipients (account_id, campaign_id, time_zones, id) where state = 'synthesizing';
