-- transaction: per statement
-- Retention of the ledger: fold_ledger replaces the transfers of reservations that ended long ago by their sums.
alter table accounts add column retention_ledger_days int;
alter table accounts add constraint accounts_retention_ledger_days_check
  check (retention_ledger_days between 365 and 3650) not valid;
alter table accounts validate constraint accounts_retention_ledger_days_check;

-- The sums of the reservation's transfers that were folded.
alter table credit_reservations add column folded_reserved bigint not null default 0;
alter table credit_reservations add column folded_captured bigint not null default 0;
alter table credit_reservations add column folded_released bigint not null default 0;
alter table credit_reservations add column folded_refunded bigint not null default 0;
-- Set when all of its transfers are folded.
alter table credit_reservations add column folded_at timestamptz;
create index concurrently if not exists credit_reservations_ended on credit_reservations (account_id, closed_at, id)
  where closed_at is not null and folded_at is null;

-- contract since 0075: no version gave a grant a reservation.
alter table credit_transfers add constraint credit_transfers_grants_check
  check (type <> 'grant' or reservation_id is null) not valid;
alter table credit_transfers validate constraint credit_transfers_grants_check;
-- contract since 0075: every other transfer had a reservation; only the sums of a day, which this version makes, have none.
alter table credit_transfers drop constraint if exists credit_transfers_check1;
