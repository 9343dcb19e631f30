// Applies this version's schema: numbered SQL files, forward only, then the functions.
import { join } from "node:path";
import pg from "pg";
import { applyStatements, create_steps_table, deleteSteps } from "./apply-statements.ts";
import { isDistributed } from "./distributed-functions.ts";
import { readManifest } from "./plan-tables.ts";
import { MigrationError } from "./migration-error.ts";
import { compareMigrations, create_contracts_table, recordContract } from "./compare-migrations.ts";
import {
  migrationNames,
  readMigrations,
  splitStatements,
  type Migration,
} from "./migration-files.ts";
import { install_dir } from "../installation/install-dir.ts";
import { migrating_application, takeLock } from "./migration-lock.ts";
import { inTransaction, runStatement, type MigrationRun } from "./migration-run.ts";
import { requireSessions } from "./require-sessions.ts";
import {
  applyFunctions,
  changedFunctions,
  pendingFunctions,
  readFunctions,
  type SqlFunction,
} from "./sql-functions.ts";
import { watchSession } from "./watch-session.ts";

const migrations_dir = join(install_dir, "migrations");
/** Longer than most transactions, so that a migration outlasts a report or a short dump; those longer stop it. */
const lock_wait_ms = 600_000;
/** After this time PostgreSQL ends the session of a process that froze while it migrated. */
const frozen_ms = 30_000;

/**
 * One connection for each node, because changes of a table with a reference to one of every node must share it; the nodes
 * wait for locks as briefly as the coordinator does.
 */
const settings_on_citus = `set citus.multi_shard_modify_mode = 'sequential'; set citus.propagate_set_commands = 'local'`;

type Options = {
  readonly dir?: string;
  /** How long to wait for locks that others hold; 10 minutes by default. */
  readonly wait_ms?: number;
  /** Receives a line about each wait and long step. */
  readonly report?: (line: string) => void;
};

/**
 * Applies the missing migrations in order and then the changed functions; returns the names of the applied
 * files. On an empty database everything up to the first migration that runs per statement is one transaction;
 * otherwise each migration is, and the functions join the last. Safe when several processes start at once;
 * takes no lock when nothing is missing. A killed run is resumed by the next. Changes nothing if a newer version has
 * migrated the database. Throws MigrationError if an applied migration has changed since, if the newer schema lacks what
 * this version needs, if PostgreSQL is older than 15, or if other sessions hold a lock for longer than `wait_ms`;
 * PoolerError behind a pooler that is not in session mode.
 */
export async function migrate(
  url: string,
  { dir = migrations_dir, wait_ms = lock_wait_ms, report = () => {} }: Options = {},
): Promise<string[]> {
  await requireSessions(url);
  const client = new pg.Client({
    connectionString: url,
    application_name: migrating_application,
    connectionTimeoutMillis: 5_000,
  });
  client.on("error", () => {}); // The running query reports it.
  await client.connect();
  try {
    await requireVersion(client);
    const migrations = readMigrations(dir);
    const functions = readFunctions(dir);
    if (await isCurrent(client, migrations, functions)) return [];
    await client.query(
      `set idle_session_timeout = ${frozen_ms}; set idle_in_transaction_session_timeout = ${frozen_ms};
       set statement_timeout = 0`,
    );
    await takeLock(client, wait_ms, report);
    const watch = watchSession(url, await pidOf(client), report);
    try {
      const { takeBlockers } = watch;
      const distributed = (await isDistributed(client)) ? readManifest(dir) : null;
      if (distributed) await client.query(settings_on_citus);
      const run = { client, report, wait_ms, takeBlockers, distributed };
      return await applyMissing(run, migrations, functions);
    } finally {
      await watch.stop();
    }
  } finally {
    await client.end(); // Rolls back uncommitted changes, and releases the lock.
  }
}

/** Returns the migrations and functions of this version that the database lacks; for the readiness check. */
export async function pendingMigrations(client: Pick<pg.ClientBase, "query">): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>("select name from migrations");
  const applied = new Set(rows.map((row) => row.name));
  const missing = migrationNames(migrations_dir).filter((name) => !applied.delete(name));
  // A newer version may have dropped functions that this one no longer calls.
  const is_newer = applied.size > 0;
  return is_newer ? missing : [...missing, ...(await pendingFunctions(client, migrations_dir))];
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

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

/** Returns whether there is nothing to apply, without a lock: a frozen migrating process stops no other start. */
async function isCurrent(
  client: pg.Client,
  migrations: readonly Migration[],
  functions: readonly SqlFunction[],
): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>(
    `select to_regclass('migrations') is not null and to_regclass('migration_contracts') is not null
       and to_regclass('schema_functions') is not null as exists`,
  );
  if (!rows[0]!.exists) return false;
  const { missing, is_newer } = await compareMigrations(client, migrations);
  if (missing.length > 0 || is_newer) return is_newer;
  return (await changedFunctions(client, functions)).length === 0;
}

async function applyMissing(
  reporting: MigrationRun,
  migrations: readonly Migration[],
  functions: readonly SqlFunction[],
): Promise<string[]> {
  const { client } = reporting;
  await client.query(`create table if not exists migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now());
    ${create_steps_table}; ${create_contracts_table}`);
  const { missing, is_newer } = await compareMigrations(client, migrations);
  if (is_newer) return [];
  const database_is_empty = missing.length === migrations.length;
  // There, each step takes an instant.
  const run = database_is_empty ? { ...reporting, report: () => {} } : reporting;
  const groups = groupMigrations(missing, database_is_empty);
  const together = groups.at(-1)?.[0]?.per_statement === false ? groups.pop()! : [];
  for (const group of groups) {
    const name = nameOf(group);
    const steps = group.filter(({ per_statement }) => per_statement);
    for (const migration of steps) await applyStatements(run, migration);
    await inTransaction(run, name, () => applyAll(run, group));
  }
  let defined: string[] = [];
  await inTransaction(run, nameOf(together), async () => {
    await applyAll(run, together);
    defined = await applyFunctions(client, functions);
  });
  return [...missing.map(({ name }) => name), ...defined];
}

/**
 * Groups the migrations whose statements share a transaction. Where there is data, that is one migration, so
 * that no table stays locked while a later migration waits for another.
 */
function groupMigrations(missing: readonly Migration[], database_is_empty: boolean): Migration[][] {
  const groups: Migration[][] = [];
  for (const migration of missing) {
    const last = groups.at(-1);
    const joins =
      database_is_empty && !migration.per_statement && last?.[0]?.per_statement === false;
    if (joins) last.push(migration);
    else groups.push([migration]);
  }
  return groups;
}

function nameOf(group: readonly Migration[]): string {
  if (group.length === 0) return "the change of the functions";
  const [first, last] = [group[0]!.name, group.at(-1)!.name];
  return first === last ? `migration ${first}` : `migrations ${first} to ${last}`;
}

/** Runs and records the migrations of a group in the caller's transaction; those per statement have already run. */
async function applyAll(run: MigrationRun, group: readonly Migration[]): Promise<void> {
  for (const migration of group) {
    try {
      if (migration.per_statement) await deleteSteps(run, migration);
      else if (run.distributed === null) await run.client.query(migration.sql);
      else for (const sql of splitStatements(migration.sql)) await runStatement(run, sql);
      await run.client.query("insert into migrations (name, checksum) values ($1, $2)", [
        migration.name,
        migration.checksum,
      ]);
      await recordContract(run.client, migration);
    } catch (error) {
      throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}
