import { randomBytes } from "node:crypto";
import pg from "pg";
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
