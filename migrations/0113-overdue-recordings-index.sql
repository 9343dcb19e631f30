-- transaction: per statement
create index concurrently if not exists accounts_by_overdue_recordings on accounts (recordings_overdue_since)
  where recordings_overdue_since is not null;
