-- transaction: per statement
-- Campaigns ended with their holds, which nothing could remove.
delete from voice_holds
  where exists (
    select from voice_campaigns c
    where c.account_id = voice_holds.account_id and c.id = voice_holds.campaign_id
      and c.state in ('completed', 'cancelled', 'failed'))
    and batch_of(voice_holds);
