-- transaction: per statement
-- Campaigns ended with their holds, which nothing could remove.
delete from chat_holds
  where scope = 'campaign' and exists (
    select from chat_campaigns c
    where c.account_id = chat_holds.account_id and c.id = chat_holds.subject_id
      and c.state in ('completed', 'cancelled', 'failed'))
    and batch_of(chat_holds);
