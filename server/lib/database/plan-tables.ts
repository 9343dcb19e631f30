// What becomes of each table on a distributed database, from the manifest of tables.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Rows of one account; the same rows for all accounts; what only the operator's commands and the start of a process use. */
export type TableKind = "tenant" | "reference" | "operator";

export type Manifest = Readonly<Record<string, TableKind>>;

export type ForeignKey = { readonly table: string; readonly references: string };

/** How a table is stored on the nodes. */
export type Placement = "distributed" | "reference" | "local";

export type PlannedTable = {
  readonly table: string;
  readonly placement: Placement;
  /** Whether it is stored like that already. */
  readonly done: boolean;
};

/** The table whose shards all others of the accounts are placed beside. */
export const first_table = "accounts";

const placements: Readonly<Record<TableKind, Placement>> = {
  tenant: "distributed",
  reference: "reference",
  operator: "local",
};

/** Reads the manifest of a migrations folder, tables.json. */
export function readManifest(migrations_dir: string): Manifest {
  return JSON.parse(readFileSync(join(migrations_dir, "tables.json"), "utf8")) as Manifest;
}

/** Returns how a table of the manifest is stored; a table that it lacks stays on the coordinator. */
export function placementOf(manifest: Manifest, table: string): Placement {
  const kind = manifest[table];
  return kind === undefined ? "local" : placements[kind];
}

/**
 * Returns the tables in the order in which they are distributed: reference tables, then the accounts, then each table
 * after those that its foreign keys reference, because Citus refuses a key to a local table. `current` has the placement
 * of the tables that are not local. Throws an Error that names a table whose placement contradicts the manifest.
 */
export function planTables(
  manifest: Manifest,
  foreignKeys: readonly ForeignKey[],
  current: ReadonlyMap<string, Placement>,
): PlannedTable[] {
  return inOrder(manifest, foreignKeys).map((table) => {
    const placement = placementOf(manifest, table);
    const found = current.get(table) ?? "local";
    if (found !== "local" && found !== placement)
      throw new Error(
        `Table ${table} is a ${found} table and must be a ${placement} table: ` +
          `run: select undistribute_table('${table}', cascade_via_foreign_keys => true)`,
      );
    return { table, placement, done: found === placement };
  });
}

function inOrder(manifest: Manifest, foreignKeys: readonly ForeignKey[]): string[] {
  const ordered = new Set<string>();
  const visiting = new Set<string>();
  const visit = (table: string) => {
    if (visiting.has(table) || manifest[table] === undefined) return;
    visiting.add(table);
    for (const key of foreignKeys) if (key.table === table) visit(key.references);
    ordered.add(table);
  };
  const ofKind = (kind: TableKind) =>
    Object.keys(manifest).filter((table) => manifest[table] === kind);
  for (const table of [...ofKind("reference"), first_table, ...ofKind("tenant")]) visit(table);
  for (const table of ofKind("operator")) visit(table);
  return [...ordered];
}
