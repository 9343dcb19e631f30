-- The last dispatch that the provider reported as failed before a person had the recipient retried. Null: none, or the
-- retry was before this migration.
alter table chat_recipients add column failed_dispatch int;
