// Keeps the database's functions equal to this version's: one file each in migrations/functions, and one in
// migrations/distributed for each that has another body on a distributed database.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type pg from "pg";
import { distributeFunctions, isDistributed } from "./distributed-functions.ts";
import { MigrationError } from "./migration-error.ts";

export type SqlFunction = {
  readonly name: string;
  readonly sql: string;
  /** Defines it on a distributed database, after `sql`. */
  readonly distributed_sql: string | null;
  /** Of both definitions. */
  readonly checksum: string;
  /** Increases with each change of a definition, so that an older version cannot replace a newer function. */
  readonly revision: number;
};

/** The contents of migrations/functions.json; `npm run db:types` writes it. */
export type FunctionRevisions = Record<string, { revision: number; checksum: string }>;

type AppliedFunction = { name: string; revision: number; checksum: string };

/** Reads the function files of a migrations folder. Throws MigrationError if a distributed body is of no function. */
export function readFunctions(migrations_dir: string): SqlFunction[] {
  const revisions = readRevisions(migrations_dir);
  const bodies = readSqlFiles(join(migrations_dir, "distributed"));
  const functions = [...readSqlFiles(join(migrations_dir, "functions"))].map(([name, sql]) => {
    const distributed_sql = bodies.get(name) ?? null;
    bodies.delete(name);
    const checksum = createHash("sha256")
      .update(sql)
      .update(distributed_sql ?? "")
      .digest("hex");
    return { name, sql, distributed_sql, checksum, revision: revisions[name]?.revision ?? 1 };
  });
  for (const name of bodies.keys())
    throw new MigrationError(
      `distributed/${name}.sql is the body of no function: ${fileOf(name)} does not exist`,
    );
  return functions;
}

/** Returns the texts of a folder's files in the order of their names. */
function readSqlFiles(dir: string): Map<string, string> {
  const files = readdirSync(dir).filter((file) => file.endsWith(".sql"));
  return new Map(
    files.toSorted().map((file) => [basename(file, ".sql"), readFileSync(join(dir, file), "utf8")]),
  );
}

/** Reads functions.json of a migrations folder. */
export function readRevisions(migrations_dir: string): FunctionRevisions {
  return JSON.parse(
    readFileSync(join(migrations_dir, "functions.json"), "utf8"),
  ) as FunctionRevisions;
}

/**
 * Defines missing and changed functions in the caller's transaction, and returns their files. Throws
 * MigrationError if the database has a function with a signature that its file does not define.
 */
export async function applyFunctions(
  client: pg.Client,
  functions: readonly SqlFunction[],
): Promise<string[]> {
  await client.query(`create table if not exists schema_functions (
    name text primary key, revision int not null, checksum text not null,
    applied_at timestamptz not null default now())`);
  // Removes the entries of functions that a numbered migration has dropped.
  await client.query(`delete from schema_functions f where not exists (
    select from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proname = f.name)`);
  const changed = await changedFunctions(client, functions);
  // A function may call another that is defined after it.
  await client.query("set local check_function_bodies = off");
  for (const fn of changed) await apply(client, fn);
  if (changed.length > 0 && (await isDistributed(client)))
    await distributeFunctions(client, functions);
  await requireOneSignature(client, functions);
  return changed.map(({ name }) => fileOf(name));
}

/**
 * Returns the functions that the database lacks or has from another file or in an older revision; none if a newer version has
 * defined one.
 * Ignores functions without a file, which newer versions call.
 */
export async function changedFunctions(
  client: pg.Client,
  functions: readonly SqlFunction[],
): Promise<SqlFunction[]> {
  const { rows } = await client.query<AppliedFunction>(
    `select name, revision, checksum from schema_functions f
     where exists (select from pg_proc p
       where p.pronamespace = current_schema()::regnamespace and p.proname = f.name)`,
  );
  const applied = new Map(rows.map((row) => [row.name, row]));
  if (functions.some(({ name, revision }) => revision < (applied.get(name)?.revision ?? 0)))
    return [];
  return functions.filter(({ name, checksum, revision }) => {
    const present = applied.get(name);
    // A revision can rise alone, and without it the function would stay pending.
    return !present || present.checksum !== checksum || present.revision < revision;
  });
}

/** Returns the files of functions that the database lacks or has in an older revision. */
export async function pendingFunctions(
  client: Pick<pg.ClientBase, "query">,
  migrations_dir: string,
): Promise<string[]> {
  const { rows } = await client.query<Pick<AppliedFunction, "name" | "revision">>(
    "select name, revision from schema_functions",
  );
  const applied = new Map(rows.map((row) => [row.name, row.revision]));
  return Object.entries(readRevisions(migrations_dir))
    .filter(([name, { revision }]) => (applied.get(name) ?? 0) < revision)
    .map(([name]) => fileOf(name));
}

async function apply(client: pg.Client, fn: SqlFunction): Promise<void> {
  try {
    await client.query(fn.sql);
  } catch (error) {
    const { message, code, hint } = error as pg.DatabaseError;
    // PostgreSQL advises to drop the function first.
    const advice =
      code === "42P13" && hint ? "; drop the old signature in a numbered migration" : "";
    throw new MigrationError(`${fileOf(fn.name)} failed: ${message}${advice}`, { cause: error });
  }
  await client.query(
    `insert into schema_functions (name, revision, checksum) values ($1, $2, $3)
     on conflict (name) do update set
       revision = excluded.revision, checksum = excluded.checksum, applied_at = now()`,
    [fn.name, fn.revision, fn.checksum],
  );
}

/** A changed argument list would keep the function with the old list beside the new one. */
async function requireOneSignature(
  client: pg.Client,
  functions: readonly SqlFunction[],
): Promise<void> {
  const { rows } = await client.query<{ name: string; count: number }>(
    `select n.name, count(p.oid)::int as count
     from unnest($1::text[]) n (name)
     left join pg_proc p on p.pronamespace = current_schema()::regnamespace and p.proname = n.name
     group by n.name having count(p.oid) <> 1`,
    [functions.map(({ name }) => name)],
  );
  if (rows.length === 0) return;
  const { name, count } = rows[0]!;
  throw new MigrationError(
    count === 0
      ? `${fileOf(name)} does not define function ${name}`
      : `function ${name} has ${count} signatures in the database and one in its file: drop the old one in a numbered migration`,
  );
}

function fileOf(name: string): string {
  return `functions/${name}.sql`;
}
