-- transaction: per statement
-- Indexes in the order of lists, so that a page by time or by another filter reads only its rows, however much lies
-- behind it. Measured in docs/decisions/2026-11-24-indexes-of-lists.md. Processes of the last version list in the order
-- of IDs: from the primary key where their index is dropped.

create index concurrently if not exists leads_by_time on leads (account_id, workspace_id, created_at, id);
drop index concurrently if exists leads_by_workspace;
create index concurrently if not exists leads_by_agent
  on leads (account_id, workspace_id, assigned_agent_id, created_at, id) where assigned_agent_id is not null;
create index concurrently if not exists leads_by_status on leads (account_id, workspace_id, status_id, created_at, id);

create index concurrently if not exists audit_entries_by_time on audit_entries (account_id, at, id);
create index concurrently if not exists audit_entries_by_action on audit_entries (account_id, action, at, id);
create index concurrently if not exists audit_entries_by_user
  on audit_entries (account_id, user_id, at, id) where user_id is not null;
create index concurrently if not exists audit_entries_by_subject
  on audit_entries (account_id, subject_id, at, id) where subject_id is not null;

-- A page without a kind or type merges one page of each.
create index concurrently if not exists credit_transfers_by_type on credit_transfers (account_id, kind, type, at, id);
-- With the type before the time; also serves the sums, as its predecessor did.
create index concurrently if not exists credit_transfers_of_reservation
  on credit_transfers (account_id, reservation_id, type, at, id) include (amount) where reservation_id is not null;
drop index concurrently if exists credit_transfers_by_reservation;

create index concurrently if not exists callback_deliveries_by_time on callback_deliveries (account_id, created_at, id);
create index concurrently if not exists callback_deliveries_by_type
  on callback_deliveries (account_id, type, created_at, id);
create index concurrently if not exists callback_deliveries_of_endpoint
  on callback_deliveries (account_id, endpoint_id, created_at, id);
drop index concurrently if exists callback_deliveries_by_endpoint;
create index concurrently if not exists callback_deliveries_given_up
  on callback_deliveries (account_id, created_at, id) where state = 'failed';
drop index concurrently if exists callback_deliveries_failed;
