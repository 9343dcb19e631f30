-- transaction: per statement
-- Retention periods in days; null: no limit. The audit trail is kept for a year at least, so that whoever may
-- change the settings cannot hide what they have just done.
alter table accounts add column retention_idempotency_keys_days int;
alter table accounts add constraint accounts_retention_idempotency_keys_days_check
  check (retention_idempotency_keys_days between 1 and 3650) not valid;
alter table accounts validate constraint accounts_retention_idempotency_keys_days_check;
alter table accounts add column retention_audit_days int;
alter table accounts add constraint accounts_retention_audit_days_check
  check (retention_audit_days between 365 and 3650) not valid;
alter table accounts validate constraint accounts_retention_audit_days_check;

-- The keys of chat campaigns are kept as long as the campaigns.
create index concurrently if not exists idempotency_keys_by_age on idempotency_keys (account_id, created_at)
  where endpoint not like 'createChatCampaign%';
