-- The endpoint was enabled or its URL was changed: its deliverer makes all pending deliveries due before it sends the next.
-- The request does not, because there may be millions.
alter table callback_endpoints add column retry_now boolean not null default false;
