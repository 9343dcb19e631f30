-- transaction: per statement
-- The OIDs of the database and of this table: a restore from a dump changes one of them, also on the same server, whose
-- system identifier and timeline stay. Null until the first process of this version.
alter table database_identity add column oids text;
-- How often the lease was acquired although its holder had not released it: the holder was killed or stalled.
alter table leases add column takeovers int not null default 0;
