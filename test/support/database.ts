import { randomBytes } from "node:crypto";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { migrate } from "../../server/lib/database/migrate.ts";
import { addNodes, citusUrls, migrateAndDistribute } from "./citus.ts";

export const template_database = "trunkline_test_template";

/** Returns the test server's URL with another database. */
export function databaseUrl(database: string): string {
  const server = process.env["TEST_DATABASE_URL"];
  if (!server)
    throw new Error(
      "TEST_DATABASE_URL is unset: run tests by the npm scripts, which start a PostgreSQL",
    );
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

export type TestDatabase = { readonly url: string; drop(): Promise<void> };

/** Creates a migrated database: by copying files, in half the time of writing its pages to the WAL. */
export async function cloneDatabase(): Promise<TestDatabase> {
  if (citusUrls("").length > 0) return distributedDatabase();
  return newDatabase(`template ${template_database} strategy file_copy`);
}

/** Creates an empty database, for tests of the migrations. */
export async function emptyDatabase(): Promise<TestDatabase> {
  return newDatabase("template template0");
}

async function newDatabase(clause: string): Promise<TestDatabase> {
  const name = `trunkline_test_${randomBytes(6).toString("hex")}`;
  await asAdmin((admin) => admin.query(`create database ${name} ${clause}`));
  return {
    url: databaseUrl(name),
    drop: async () =>
      void (await asAdmin((admin) => admin.query(`drop database if exists ${name} with (force)`))),
  };
}

/** Creates an empty database on every node of a Citus, without tables. */
export async function emptyCitusDatabase(): Promise<TestDatabase> {
  const name = `trunkline_test_${randomBytes(6).toString("hex")}`;
  const servers = citusUrls("postgres");
  const onEach = async (text: string) => {
    for (const url of servers) await asAdmin((admin) => admin.query(text), url);
  };
  await onEach(`create database ${name} template template0`);
  await addNodes(citusUrls(name));
  return {
    url: citusUrls(name)[0]!,
    drop: () => onEach(`drop database if exists ${name} with (force)`),
  };
}

/**
 * Returns a database for queries across accounts, which Citus refuses: the given one, or a copy of its rows on PostgreSQL.
 * Nothing may write meanwhile.
 */
export async function databaseToCheck(url: string): Promise<TestDatabase> {
  if (citusUrls("").length === 0) return { url, drop: async () => {} };
  const copy = await emptyDatabase();
  await migrate(copy.url);
  const [source, target] = [url, copy.url].map(
    (connectionString) => new pg.Client({ connectionString }),
  ) as [pg.Client, pg.Client];
  await Promise.all([source.connect(), target.connect()]);
  await target.query("set session_replication_role = replica");
  const { rows } = await source.query<{ name: string; columns: string }>(copied_tables);
  for (const { name, columns } of rows) {
    await target.query(`truncate ${name} cascade`);
    await pipeline(
      source.query(copyTo(`copy (select ${columns} from ${name}) to stdout`)),
      target.query(copyFrom(`copy ${name} (${columns}) from stdin`)),
    );
  }
  await Promise.all([source.end(), target.end()]);
  return copy;
}

const copied_tables = `
  select t.table_name::text as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
  from citus_tables t join pg_attribute a on a.attrelid = t.table_name
  where a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by 1`;

async function distributedDatabase(): Promise<TestDatabase> {
  const database = await emptyCitusDatabase();
  await migrateAndDistribute(database.url);
  return database;
}

async function asAdmin<T>(
  work: (admin: pg.Client) => Promise<T>,
  url = databaseUrl("postgres"),
): Promise<T> {
  const admin = new pg.Client({ connectionString: url });
  admin.on("error", () => {});
  await admin.connect();
  try {
    // Only one session at a time can copy a template, and test files start together.
    await admin.query("select pg_advisory_lock(7286542003)");
    return await work(admin);
  } finally {
    await admin.end();
  }
}
