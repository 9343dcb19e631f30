-- Which database the service last worked on, to recognize one that was restored or failed over
-- (server/engine/database-identity.ts). One row; the first process to start adds it.
create table database_identity (
  is_only boolean primary key default true check (is_only),
  -- A restore from a dump changes the first, point-in-time recovery and a failover the second.
  system_identifier text not null,
  timeline text not null,
  -- When a worker last ran on it: everything sent until then is recorded.
  seen_at timestamptz not null,
  -- When a process found another identity; workers wait until an operator has run `trunkline restored`.
  changed_at timestamptz
);
