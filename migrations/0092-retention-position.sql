-- Where retention goes on in the account's events: all with a lower seq are deleted. Without it, each batch passed the index
-- entries of all events that were deleted before, until a vacuum, which waits for the longest transaction.
alter table accounts add column retention_events_seq bigint not null default 0;
