-- Where retention goes on while it deletes a backlog: what expires before it has been deleted or skipped. Without it, each batch passed the index entries of all that were deleted before, until a vacuum, which waits
-- for the longest transaction. Not in accounts, which every request reads: its old versions are kept as long.
create table retention_positions (
  account_id bigint not null,
  setting text not null,
  -- By time, or by ID.
  at timestamptz,
  id bigint,
  primary key (account_id, setting)
);
