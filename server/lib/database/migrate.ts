// Applies this version's schema: numbered SQL files, forward only, then the functions.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { MigrationError } from "./migration-error.ts";
import {
  applyFunctions,
  changedFunctions,
  pendingFunctions,
  readFunctions,
  type SqlFunction,
} from "./sql-functions.ts";

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

/** Longer than migrations of most databases; those who wait longer start again later. */
const lock_wait_ms = 60_000;
/** After this time PostgreSQL ends the transaction of a process that froze while it migrated. */
const frozen_ms = 30_000;

/**
 * Applies the missing migrations in order and then the changed functions in one transaction; returns the names
 * of the applied files. Safe when several processes start at once; takes no lock when nothing is missing.
 * Throws MigrationError if an applied migration has changed since, if the database is newer than this version,
 * if PostgreSQL is older than 15, or if another session holds the lock for longer than `wait_ms`.
 */
export async function migrate(
  url: string,
  dir: string = migrations_dir,
  wait_ms: number = lock_wait_ms,
): Promise<string[]> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "trunkline-migrate",
    connectionTimeoutMillis: 5_000,
    idle_in_transaction_session_timeout: frozen_ms,
  });
  client.on("error", () => {}); // The running query reports it.
  await client.connect();
  try {
    await requireVersion(client);
    const migrations = readMigrations(dir);
    const functions = readFunctions(dir);
    if (await isCurrent(client, migrations, functions)) return [];
    await client.query("begin");
    await takeLock(client, wait_ms);
    const applied = await applyMissing(client, migrations);
    const defined = await applyFunctions(client, functions);
    await client.query("commit");
    return [...applied, ...defined];
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

/** Returns whether nothing is missing, without a lock: a frozen migrating process stops no other start. */
async function isCurrent(
  client: pg.Client,
  migrations: Migration[],
  functions: readonly SqlFunction[],
): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>(
    "select to_regclass('migrations') is not null and to_regclass('schema_functions') is not null as exists",
  );
  if (!rows[0]!.exists) return false;
  if ((await missingMigrations(client, migrations)).length > 0) return false;
  return (await changedFunctions(client, functions)).length === 0;
}

/** Takes the lock until the end of the transaction; throws MigrationError that names its holder. */
async function takeLock(client: pg.Client, wait_ms: number): Promise<void> {
  await client.query(`set local lock_timeout = ${wait_ms}`);
  await client.query("savepoint before_lock");
  try {
    await client.query("select pg_advisory_xact_lock($1)", [lock_key]);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "55P03") throw error;
    await client.query("rollback to before_lock");
    const seconds = Math.round(wait_ms / 1_000);
    throw new MigrationError(
      `could not acquire the lock for migrations within ${seconds} s: ${await describeHolder(client)}`,
      { cause: error },
    );
  }
  await client.query("set local lock_timeout = 0");
}

async function describeHolder(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ pid: number; name: string; address: string }>(
    `select a.pid, a.application_name as name, coalesce(host(a.client_addr), 'a local socket') as address
     from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_database where datname = current_database())
       and l.classid::bigint << 32 | l.objid::bigint = $1`,
    [lock_key],
  );
  if (!rows[0]) return "its holder has just released it; start again";
  const { pid, name, address } = rows[0];
  return (
    `it is held by PostgreSQL session ${pid} (application_name ${name}, from ${address}). ` +
    `If that process is frozen, run: select pg_terminate_backend(${pid})`
  );
}

async function applyMissing(client: pg.Client, migrations: Migration[]): Promise<string[]> {
  await client.query(`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`);
  const missing = await missingMigrations(client, migrations);
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

async function missingMigrations(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "select name, checksum from migrations",
  );
  refuseDrift(migrations, rows);
  const applied = new Set(rows.map((row) => row.name));
  return migrations.filter((migration) => !applied.has(migration.name));
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
