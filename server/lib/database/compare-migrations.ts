// Compares this version's migrations with those of the database, which a newer version may have migrated: during a
// rolling upgrade and after going back one version, older processes start on the newer schema.
import type pg from "pg";
import { MigrationError } from "./migration-error.ts";
import type { Migration } from "./migration-files.ts";

/** Creates the table of the migrations that not every older version can run beside. */
export const create_contracts_table = `create table if not exists migration_contracts (
  migration text primary key,
  -- The number of the migration that a version needs to have, so that it uses nothing that this one took away.
  since text not null)`;

/**
 * Returns the migrations that the database lacks, and whether it has migrations of a newer version. Throws
 * MigrationError if an applied migration has changed since, or if the newer schema lacks what this version needs.
 */
export async function compareMigrations(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<{ missing: Migration[]; is_newer: boolean }> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "select name, checksum from migrations order by name",
  );
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  for (const migration of migrations) refuseChange(migration, applied.get(migration.name));
  const missing = migrations.filter(({ name }) => !applied.has(name));
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length === 0) return { missing, is_newer: false };
  if (missing.length > 0) {
    throw new MigrationError(
      `the database has migration ${unknown[0]}, which this version does not know, and lacks ${missing[0]!.name}: start a version that has both`,
    );
  }
  await requireCompatible(client, unknown, migrations);
  return { missing, is_newer: true };
}

/** Records, in the caller's transaction, which version a migration needs. */
export async function recordContract(
  client: pg.Client,
  { name, contract_since }: Migration,
): Promise<void> {
  if (contract_since === null) return;
  await client.query("insert into migration_contracts (migration, since) values ($1, $2)", [
    name,
    contract_since,
  ]);
}

function refuseChange(migration: Migration, applied: string | undefined): void {
  const { name, checksum, former_checksum } = migration;
  if (applied === undefined || applied === checksum || applied === former_checksum) return;
  throw new MigrationError(
    `migration ${name} has changed since it was applied; never edit a migration, add a new one`,
  );
}

/** The newer migrations that took something away name the version that no longer uses it: this one, or an older one. */
async function requireCompatible(
  client: pg.Client,
  unknown: readonly string[],
  migrations: readonly Migration[],
): Promise<void> {
  const { rows } = await client.query<{ migration: string; since: string }>(
    "select migration, since from migration_contracts where migration = any ($1) order by migration",
    [unknown],
  );
  for (const { migration, since } of rows) {
    if (migrations.some(({ name }) => name.startsWith(since))) continue;
    throw new MigrationError(
      `the database has migration ${migration}, which took away what this version uses: start a version that has migration ${since}`,
    );
  }
}
