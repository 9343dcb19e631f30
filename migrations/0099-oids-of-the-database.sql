-- The OIDs of the database and of this table: a restore from a dump changes one of them, also on the same server, whose
-- system identifier and timeline stay. Null until the first process of this version.
alter table database_identity add column oids text;
