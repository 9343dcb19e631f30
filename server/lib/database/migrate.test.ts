import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { emptyDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { migrate, MigrationError } from "./migrate.ts";

const migrations_dir = join(import.meta.dirname, "../../../migrations");
let dir: string;
const databases: TestDatabase[] = [];

before(async () => {
  dir = await mkdtemp(join(tmpdir(), "trunkline-migrations-"));
});
after(async () => {
  await rm(dir, { recursive: true });
  for (const database of databases) await database.drop();
});

async function fresh(): Promise<string> {
  const database = await emptyDatabase();
  databases.push(database);
  return database.url;
}

async function folder(name: string): Promise<string> {
  const copy = join(dir, name);
  await cp(migrations_dir, copy, { recursive: true });
  return copy;
}

async function tables(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ count: number }>(
    "select count(*)::int from information_schema.tables where table_schema = 'public'",
  );
  await client.end();
  return rows[0]!.count;
}

test("four processes that migrate one empty database at once apply each migration exactly once", async () => {
  const url = await fresh();
  const script = `import { migrate } from ${JSON.stringify(join(import.meta.dirname, "migrate.ts"))};
    console.log(JSON.stringify(await migrate(${JSON.stringify(url)})));`;
  const run = () =>
    promisify(execFile)(process.execPath, ["--input-type=module-typescript", "-e", script]);
  const outputs = await Promise.all([run(), run(), run(), run()]);
  const applied = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  assert.equal(new Set(applied).size, applied.length);
  assert.deepEqual(await migrate(url), []);
});

test("a migration that changed after it ran stops the start and is named", async () => {
  const url = await fresh();
  const copy = await folder("changed");
  await migrate(url, copy);
  await writeFile(join(copy, "0002-events.sql"), "select 1;");
  await assert.rejects(migrate(url, copy), (error) => {
    assert.ok(error instanceof MigrationError);
    assert.match(error.message, /0002-events\.sql has changed/);
    return true;
  });
});

test("a database ahead of this version is refused, because its schema is not known here", async () => {
  const url = await fresh();
  const copy = await folder("ahead");
  await writeFile(join(copy, "9999-future.sql"), "create table future ();");
  await migrate(url, copy);
  await assert.rejects(migrate(url), /9999-future\.sql, which this version does not know/);
});

test("a migration that fails leaves nothing of itself and can be run again", async () => {
  const url = await fresh();
  const copy = await folder("failing");
  await migrate(url);
  const tablesBefore = await tables(url);
  await writeFile(join(copy, "9999-half.sql"), "create table half (); select 1/0;");
  await assert.rejects(migrate(url, copy), /9999-half\.sql failed: division by zero/);
  assert.equal(await tables(url), tablesBefore);
  await writeFile(join(copy, "9999-half.sql"), "create table half ();");
  assert.deepEqual(await migrate(url, copy), ["9999-half.sql"]);
});
