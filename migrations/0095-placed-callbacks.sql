-- transaction: per statement
-- How many of a recipient's callbacks were placed: a call was dialed after the promise. The limit of calls a day does not
-- stop a callback that was not placed yet, but it stops retries. Callbacks that earlier versions promised count as not
-- placed, so that none is broken,
alter table voice_recipients add column callbacks_placed int not null default 0;
-- except those of finished recipients,
update voice_recipients set callbacks_placed = callbacks
  where callbacks > callbacks_placed and state not in ('waiting', 'calling') and batch_of(voice_recipients);
-- and of those whose last call was dialed and promised none.
update voice_recipients set callbacks_placed = voice_recipients.callbacks
  from calls c
  where voice_recipients.callbacks > voice_recipients.callbacks_placed and voice_recipients.state = 'waiting'
    and c.account_id = voice_recipients.account_id and c.id = voice_recipients.call_id
    and c.callback_at is null and c.disposition <> 'canceled' and batch_of(voice_recipients);
