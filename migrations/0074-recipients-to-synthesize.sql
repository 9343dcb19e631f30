-- transaction: per statement
-- The condition of the index of recipients whose script is not synthesized yet was never true since 0028 renamed the
-- state, so each iteration of the synthesis read a campaign's recipients up to the first one. Recipients of other
-- campaigns than those with scripts have no entry.
create index concurrently if not exists voice_recipients_to_synthesize on voice_recipients (account_id, campaign_id, id)
  where state = 'synthesizing';
drop index concurrently if exists voice_recipients_synthesizing;
