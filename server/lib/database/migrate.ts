// Applies this version's schema: numbered SQL files, forward only, then the functions.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { MigrationError } from "./migration-error.ts";
import { applyFunctions, pendingFunctions, readFunctions } from "./sql-functions.ts";

type Migration = {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** Checksum of the file when it still defined functions, which now have their own files. */
  readonly former_checksum: string | undefined;
};

const migrations_dir = join(import.meta.dirname, "../../../migrations");
/** Arbitrary fixed key of the advisory lock that serializes migrating processes. */
const lock_key = 7_286_542_001;

/**
 * Applies the missing migrations in order and then the changed functions in one transaction; returns the names
 * of the applied files. Safe when several processes start at once. Throws MigrationError if an applied migration
 * has changed since, if the database is newer than this version, or if PostgreSQL is older than 15.
 */
export async function migrate(url: string, dir: string = migrations_dir): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: "trunkline-migrate" });
  client.on("error", () => {}); // The running query reports it.
  await client.connect();
  try {
    await requireVersion(client);
    await client.query("select pg_advisory_lock($1)", [lock_key]);
    await client.query("begin");
    const migrations = await applyMissing(client, readMigrations(dir));
    const functions = await applyFunctions(client, readFunctions(dir));
    await client.query("commit");
    return [...migrations, ...functions];
  } finally {
    await client.end(); // Rolls back uncommitted changes.
  }
}

/** Returns the migrations and functions of this version that the database lacks; for the readiness check. */
export async function pendingMigrations(client: Pick<pg.ClientBase, "query">): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>("select name from migrations");
  const applied = new Set(rows.map((row) => row.name));
  return [
    ...migrationNames(migrations_dir).filter((name) => !applied.has(name)),
    ...(await pendingFunctions(client, migrations_dir)),
  ];
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    "select current_setting('server_version_num')::int as version",
  );
  const version = rows[0]!.version;
  if (version < 150_000) {
    throw new MigrationError(
      `PostgreSQL 15 or newer is needed; this server is ${Math.floor(version / 10_000)}`,
    );
  }
}

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<string[]> {
  await client.query(`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`);
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "select name, checksum from migrations",
  );
  refuseDrift(migrations, rows);
  const applied = new Set(rows.map((row) => row.name));
  const missing = migrations.filter((migration) => !applied.has(migration.name));
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

function refuseDrift(migrations: Migration[], applied: { name: string; checksum: string }[]): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, checksum } of applied) {
    const migration = known.get(name);
    if (!migration) {
      throw new MigrationError(
        `the database has migration ${name}, which this version does not know: it is older than the database`,
      );
    }
    if (checksum !== migration.checksum && checksum !== migration.former_checksum) {
      throw new MigrationError(
        `migration ${name} has changed since it was applied; never edit a migration, add a new one`,
      );
    }
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.sql);
    await client.query("insert into migrations (name, checksum) values ($1, $2)", [
      migration.name,
      migration.checksum,
    ]);
  } catch (error) {
    throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function readMigrations(dir: string): Migration[] {
  const former = JSON.parse(readFileSync(join(dir, "former-checksums.json"), "utf8")) as Record<
    string,
    string
  >;
  return migrationNames(dir).map((name) => {
    const sql = readFileSync(join(dir, name), "utf8");
    const checksum = createHash("sha256").update(sql).digest("hex");
    return { name, sql, checksum, former_checksum: former[name] };
  });
}

function migrationNames(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .toSorted();
}
