// Refuses a database that cannot be distributed, and says what to do.
import type pg from "pg";

/** The oldest version of Citus on which the service was run. */
const version_min = 13;

const guide = "see docs/guides/distributed.md";

type Nodes = { readonly group_id: number; readonly nodes: number; readonly with_shards: number };

/** Throws an Error unless the database has Citus, is the coordinator, and knows at least one node for shards. */
export async function requireCoordinator(client: pg.Client): Promise<void> {
  await requireCitus(client);
  const { rows } = await client.query<Nodes>(
    `select (select groupid from pg_dist_local_group) as group_id, count(*)::int as nodes,
       count(*) filter (where shouldhaveshards)::int as with_shards
     from pg_dist_node where isactive and noderole = 'primary'`,
  );
  const { group_id, nodes, with_shards } = rows[0]!;
  if (group_id !== 0)
    throw new Error(
      "This database is a worker node of Citus: set DATABASE_URL to the coordinator's",
    );
  if (nodes === 0)
    throw new Error(
      "Citus knows no nodes. On the coordinator, run: select citus_set_coordinator_host('<its address>', 5432); " +
        `and for each worker: select citus_add_node('<address>', 5432); ${guide}`,
    );
  if (with_shards === 0)
    throw new Error(
      "No node of Citus may have shards: add workers by citus_add_node('<address>', 5432), or let the coordinator have " +
        "shards: select citus_set_node_property('<its address>', 5432, 'shouldhaveshards', true)",
    );
}

async function requireCitus(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ available: string | null; created: string | null }>(
    `select (select default_version from pg_available_extensions where name = 'citus') as available,
       (select extversion from pg_extension where extname = 'citus') as created`,
  );
  const { available, created } = rows[0]!;
  if (available === null)
    throw new Error(
      "This PostgreSQL does not have Citus, so its tables cannot be distributed. Everything works without it: " +
        `it is for installations that have outgrown one database server; ${guide}`,
    );
  if (created === null)
    throw new Error(
      "Citus is installed on this server, but not in this database: add citus to shared_preload_libraries, restart " +
        `PostgreSQL, and run on each node: create extension citus; ${guide}`,
    );
  if (Number.parseInt(created, 10) < version_min)
    throw new Error(`Citus ${version_min} or newer is needed; this database has ${created}`);
}

/** Throws an Error while processes of the service are connected: their requests would wait, or fail halfway. */
export async function requireStopped(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number; address: string }>(
    `select pid, coalesce(host(client_addr), 'a local socket') as address from pg_stat_activity
     where datname = current_database() and application_name in ('trunkline', 'trunkline-notifications')
     order by backend_start limit 1`,
  );
  if (rows.length === 0) return;
  const { pid, address } = rows[0]!;
  throw new Error(
    `The service is running (PostgreSQL session ${pid}, from ${address}): stop every process of it first`,
  );
}
