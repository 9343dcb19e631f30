-- The networks that a token may be used from, in CIDR notation; null: any.
alter table tokens add column allowed_addresses text[];
