-- transaction: per statement
-- Indexes of recipients on columns that do not change while a message is dispatched, sent, delivered and read, so that
-- these updates are HOT: they write no index entries. Measured in docs/decisions/2026-11-24-hot-updates-of-recipients.md.

-- Recipients of versions before 0032 that were deferred after the provider had accepted them.
update chat_recipients set accepted_at = null, ended_at = null
  where state in ('queued', 'deferred', 'dispatching', 'unknown')
    and (accepted_at is not null or ended_at is not null) and batch_of(chat_recipients);
-- The indexes below replace conditions on the state by these columns. All versions since then set them so.
alter table chat_recipients add constraint chat_recipients_times check (
  case when state in ('queued', 'deferred', 'dispatching', 'unknown') then accepted_at is null and ended_at is null
    when state in ('delivered', 'read') then accepted_at is not null
    when state in ('refused', 'unresolved', 'undelivered', 'skipped') then ended_at is not null
    else true end) not valid;
alter table chat_recipients validate constraint chat_recipients_times;
-- Without it, neither the sender nor the job that settles unknown outcomes finds the recipient.
alter table chat_recipients add constraint chat_recipients_have_due_at
  check (state not in ('deferred', 'unknown') or due_at is not null) not valid;
alter table chat_recipients validate constraint chat_recipients_have_due_at;

-- Queued, deferred, dispatching and unknown.
create index concurrently if not exists chat_recipients_pending on chat_recipients (account_id, campaign_id, id)
  where accepted_at is null and ended_at is null;
-- Deferred and unknown: others have no due_at.
create index concurrently if not exists chat_recipients_due on chat_recipients (account_id, campaign_id, due_at)
  where due_at is not null;
create index concurrently if not exists chat_recipients_accepted on chat_recipients (account_id, phone, accepted_at)
  where accepted_at is not null;
create index concurrently if not exists chat_recipients_ended on chat_recipients (account_id, campaign_id, error)
  where ended_at is not null and error is not null;
drop index concurrently if exists chat_recipients_open;
drop index concurrently if exists chat_recipients_deferred;
drop index concurrently if exists chat_recipients_by_phone;
drop index concurrently if exists chat_recipients_failed;

-- Room for the next versions of the rows of a page. A page is pruned when it is read, and then has room again.
alter table chat_recipients set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02);
alter table events set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
alter table calls set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
