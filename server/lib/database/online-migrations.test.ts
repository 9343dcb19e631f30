// Migrations that run statement by statement, beside sessions that use the tables.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import pg from "pg";
import { emptyDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { migrate } from "./migrate.ts";
import { splitStatements } from "./migration-files.ts";

const item_rows = 20_000;
let root: string;
let dir: string;
let database: TestDatabase;
let client: pg.Client;

before(async () => {
  root = await mkdtemp(join(tmpdir(), "trunkline-online-"));
});
after(() => rm(root, { recursive: true }));

/** A database with one migration, whose table `items` has 20,000 rows of two accounts. */
beforeEach(async () => {
  database = await emptyDatabase();
  client = await connect();
  dir = await mkdtemp(join(root, "migrations-"));
  for (const folder of ["functions", "distributed"]) await mkdir(join(dir, folder));
  await writeFile(join(dir, "functions.json"), "{}");
  await writeFile(join(dir, "former-checksums.json"), "{}");
  await addMigration(
    "0001-items",
    `create table items (account_id bigint not null, id bigint not null, visits int not null,
       label text, primary key (account_id, id))`,
  );
  await migrate(database.url, { dir });
  await client.query(
    "insert into items select n % 2, n, 0 from generate_series(1::bigint, $1::bigint) n",
    [item_rows],
  );
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

async function connect(application_name = "test"): Promise<pg.Client> {
  const opened = new pg.Client({ connectionString: database.url, application_name });
  await opened.connect();
  return opened;
}

const addMigration = (name: string, sql: string) => writeFile(join(dir, `${name}.sql`), `${sql};`);
const addOnline = (name: string, ...statements: string[]) =>
  addMigration(name, ["-- transaction: per statement", statements.join(";\n")].join("\n"));

async function rows<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows;
}

/** The session that migrates, once `condition` holds for it. */
async function migratingPid(condition = "true"): Promise<number> {
  let pid: number | undefined;
  await eventually(async () => {
    const found = await rows<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database()
         and application_name = 'trunkline-migrate' and ${condition}`,
    );
    pid = found[0]?.pid;
    return pid !== undefined;
  });
  return pid!;
}

const index_labels =
  "create index concurrently if not exists items_by_label on items (account_id, label)";
const count_visits = "update items set visits = visits + 1 where batch_of(items)";

test("a migration per statement builds an index, validates a constraint and changes each row once", async () => {
  await addOnline(
    "0002-online",
    "alter table items add column size int",
    "alter table items add constraint items_size_check check (size is not null) not valid",
    "update items set visits = visits + 1, size = 1 where batch_of(items)",
    "alter table items validate constraint items_size_check",
    "alter table items alter column size set not null",
    index_labels,
    "delete from items where id > 10 and batch_of(items)",
  );
  assert.deepEqual(await migrate(database.url, { dir }), ["0002-online.sql"]);
  assert.deepEqual(await rows("select distinct visits, size from items"), [{ visits: 1, size: 1 }]);
  assert.deepEqual(await rows("select count(*)::int as items from items"), [{ items: 10 }]);
  assert.deepEqual(
    await rows(`select convalidated as valid, (select indisvalid from pg_index
      where indexrelid = 'items_by_label'::regclass) as index
      from pg_constraint where conname = 'items_size_check'`),
    [{ valid: true, index: true }],
  );
  assert.deepEqual(await rows("select from migration_steps"), []);
  assert.deepEqual(await migrate(database.url, { dir }), []);
});

test("a backfill whose session is ended resumes after its last batch, and visits no row twice", async () => {
  await addOnline("0002-visits", count_visits);
  const holder = await connect();
  for (const held of ["(0, 8000)", "(1, 15001)"]) {
    await holder.query(`begin; select from items where (account_id, id) = ${held} for update`);
    const ended = assert.rejects(migrate(database.url, { dir }));
    const pid = await migratingPid("wait_event_type = 'Lock'");
    await client.query("select pg_terminate_backend($1)", [pid]);
    await ended;
    await holder.query("commit");
    const found = await rows("select distinct visits from items order by visits");
    assert.deepEqual(found, [{ visits: 0 }, { visits: 1 }]);
  }
  await holder.end();
  assert.deepEqual(await migrate(database.url, { dir }), ["0002-visits.sql"]);
  assert.deepEqual(await rows("select distinct visits from items"), [{ visits: 1 }]);
});

test("a killed run repeats no statement that was applied, and refuses a change of one", async () => {
  await addOnline("0002-half", "create table half ()", "select 1 / 0");
  await assert.rejects(
    migrate(database.url, { dir }),
    /statement 2 of 2 of migration 0002-half\.sql failed: division by zero/,
  );
  await addOnline("0002-half", "create table other_half ()", "select 1");
  await assert.rejects(
    migrate(database.url, { dir }),
    /statement 1 of 2 of migration 0002-half\.sql has changed since it was applied/,
  );
  await addOnline("0002-half", "create table half ()", "select 1");
  assert.deepEqual(await migrate(database.url, { dir }), ["0002-half.sql"]);
});

test("an invalid index that a killed build left behind is built again", async () => {
  const unique =
    "create unique index concurrently if not exists items_once on items (account_id, visits)";
  await assert.rejects(client.query(unique), /could not create unique index/);
  await client.query("update items set visits = id");
  const lines: string[] = [];
  await addOnline("0002-unique", unique);
  await migrate(database.url, { dir, report: (line) => lines.push(line) });
  assert.ok(lines.includes("dropping index items_once, whose build did not end"), lines.join("\n"));
  assert.deepEqual(
    await rows("select indisvalid from pg_index where indexrelid = 'items_once'::regclass"),
    [{ indisvalid: true }],
  );
});

test("a failed build removes its invalid index, which would refuse writes", async () => {
  await addOnline(
    "0002-unique",
    "create unique index concurrently if not exists items_once on items (account_id, visits)",
  );
  await assert.rejects(migrate(database.url, { dir }), /could not create unique index/);
  assert.deepEqual(await rows("select to_regclass('items_once') as index"), [{ index: null }]);
});

test("a change of a table that is in use is retried, reports who uses it, and lets others pass meanwhile", async () => {
  await addMigration("0002-column", "alter table items add column size int");
  const holder = await connect("nightly-dump");
  await holder.query("begin; select count(*) from items");
  const lines: string[] = [];
  const migrating = migrate(database.url, { dir, report: (line) => lines.push(line) });
  const named =
    /^migration 0002-column\.sql could not lock its tables: it is blocked by PostgreSQL session \d+ \(application_name nightly-dump, from .*, idle in transaction, transaction of \d+ s\): begin; select count\(\*\) from items; retrying in \d+ ms$/;
  await eventually(() => lines.length >= 2 && lines.some((line) => named.test(line)));
  await client.query("set statement_timeout = '5s'");
  await client.query("insert into items values (3, 1, 0)");
  await holder.query("commit");
  assert.deepEqual(await migrating, ["0002-column.sql"]);
  await holder.end();
});

test("a change of a table that stays in use fails with the name of the session, and changes nothing", async () => {
  await addMigration("0002-column", "create table more (); alter table items add column size int");
  const holder = await connect("nightly-dump");
  await holder.query("begin; select count(*) from items");
  await assert.rejects(
    migrate(database.url, { dir, wait_ms: 3_000 }),
    /migration 0002-column\.sql could not lock its tables within 3 s: it is blocked by PostgreSQL session \d+ \(application_name nightly-dump/,
  );
  assert.deepEqual(await rows("select to_regclass('more') as more"), [{ more: null }]);
  await holder.end();
});

test("a process that starts during a migration waits for its end, however long it takes", async () => {
  await addMigration("0002-column", "alter table items add column size int");
  const holder = await connect();
  await holder.query("begin; select count(*) from items");
  const first = migrate(database.url, { dir });
  await migratingPid("wait_event_type = 'Lock'");
  const lines: string[] = [];
  const second = migrate(database.url, { dir, wait_ms: 1, report: (line) => lines.push(line) });
  await eventually(() => lines.length > 0);
  assert.match(lines[0]!, /^waiting for the lock for migrations, which is held by PostgreSQL/);
  await holder.query("commit");
  assert.deepEqual(await Promise.all([first, second]), [["0002-column.sql"], []]);
  await holder.end();
});

test("statements are split at semicolons outside strings, quoted names and comments", () => {
  const sql = `-- one; two
    select 'a;''b', "c;d"; /* e; */ do $x$ begin; $$ ; $$ end; $x$;
    select 2 -- f;
    ;`;
  assert.deepEqual(splitStatements(sql), [
    `select 'a;''b', "c;d"`,
    "do $x$ begin; $$ ; $$ end; $x$",
    "select 2",
  ]);
});
