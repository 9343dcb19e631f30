// Distributes tables: all of them, one transaction each, so that a killed run is resumed by the next, or a new one.
import type pg from "pg";
import {
  first_table,
  planTables,
  type ForeignKey,
  type Manifest,
  type Placement,
  type PlannedTable,
} from "./plan-tables.ts";

const find_foreign_keys = `
  select conrelid::regclass::text as table, confrelid::regclass::text as references from pg_constraint
  where contype = 'f' and connamespace = current_schema()::regnamespace`;

/** Citus: h is distributed by hash, n by none; of the latter, those replicated to every node are reference tables. */
const find_placements = `
  select logicalrelid::text as table,
    case when partmethod = 'h' then 'distributed' when repmodel = 't' then 'reference' else 'local' end as placement
  from pg_dist_partition`;

/** Reads the database, and returns what becomes of each table of the manifest, in order. */
export async function readPlan(client: pg.Client, manifest: Manifest): Promise<PlannedTable[]> {
  const keys = await client.query<ForeignKey>(find_foreign_keys);
  const found = await client.query<{ table: string; placement: Placement }>(find_placements);
  const current = new Map(found.rows.map(({ table, placement }) => [table, placement]));
  return planTables(manifest, keys.rows, current);
}

/** Distributes the tables that are not yet; reports each. The accounts get `shards` shards, and the others the same. */
export async function distributeTables(
  client: pg.Client,
  plan: readonly PlannedTable[],
  shards: number,
  report: (line: string) => void,
): Promise<void> {
  const open = plan.filter(({ done, placement }) => !done && placement !== "local");
  for (const [i, planned] of open.entries()) {
    const began_ms = performance.now();
    if (planned.table === first_table)
      await client.query(
        "select create_distributed_table($1::text::regclass, 'account_id', shard_count => $2::int)",
        [planned.table, shards],
      );
    else await distributeTable(client, planned);
    const seconds = ((performance.now() - began_ms) / 1_000).toFixed(1);
    const { table, placement } = planned;
    report(`${i + 1} of ${open.length}: ${table} is a ${placement} table (${seconds} s)`);
  }
}

/** Stores a new table as its placement says, beside the rows of each account or on every node. */
export async function distributeTable(
  client: pg.Client,
  { table, placement }: Pick<PlannedTable, "table" | "placement">,
): Promise<void> {
  if (placement === "reference")
    await client.query("select create_reference_table($1::text::regclass)", [table]);
  else if (placement === "distributed")
    await client.query(
      "select create_distributed_table($1::text::regclass, 'account_id', colocate_with => $2::text)",
      [table, first_table],
    );
}

/**
 * Deletes the rows that Citus copied to the shards and left behind in the coordinator's tables, where no statement sees
 * them. Runs when all tables are distributed, because a truncation takes the tables with it that reference the table.
 */
export async function deleteCopiedRows(
  client: pg.Client,
  plan: readonly PlannedTable[],
  report: (line: string) => void,
): Promise<void> {
  const tables = plan.filter(({ placement }) => placement !== "local").map(({ table }) => table);
  const { rows } = await client.query<{ table: string }>(
    `select t as table from unnest($1::text[]) t where pg_relation_size(t::regclass) > 0`,
    [tables],
  );
  for (const { table } of rows) {
    await client.query("select truncate_local_data_after_distributing_table($1::text::regclass)", [
      table,
    ]);
    report(`deleted the coordinator's copy of ${table}`);
  }
}
