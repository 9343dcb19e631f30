// `trunkline distribute` on a real Citus: `npm run test:citus`.
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { runCommandLine } from "../../server/cli/run-command-line.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { citusUrls } from "../support/citus.ts";
import { emptyCitusDatabase, type TestDatabase } from "../support/database.ts";
import { test_secret_key } from "../support/secrets.ts";

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await emptyCitusDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

async function run(url: string, ...args: string[]) {
  const env = { DATABASE_URL: url, TRUNKLINE_SECRET_KEY: test_secret_key };
  const ended = await runCommandLine(["distribute", ...args, "--json"], env);
  return { ...ended, json: ended.code === 0 ? JSON.parse(ended.stdout) : undefined };
}

const count = async (text: string) => Number((await client.query(text)).rows[0].count);
const distributed = () => count("select count(*) from citus_tables");
type Row = { table: string; placement: string; status: string };
const withStatus = (rows: readonly Row[], status: string) =>
  rows.filter((row) => row.status === status).length;

test("refuses a database whose schema is not migrated", async () => {
  const { code, stderr } = await run(database.url);
  assert.equal(code, 1);
  assert.match(stderr, /run: trunkline migrate/);
});

test("plans, distributes with the rows that exist, resumes where it was interrupted, and repeats nothing", async () => {
  await migrate(database.url);
  await client.query(
    "insert into accounts (account_id, name, created_at, updated_at) select i, 'a', now(), now() from generate_series(1, 20) i",
  );
  const dry = await run(database.url, "--dry-run", "--shards", "4");
  assert.equal(dry.code, 0, dry.stderr);
  assert.equal(await distributed(), 0, "a dry run changes nothing");
  const planned = withStatus(dry.json.tables, "planned");
  assert.ok(planned > 80);

  // The state after a run that was killed after two tables.
  await client.query("select create_reference_table('trunks')");
  await client.query("select create_distributed_table('accounts', 'account_id', shard_count => 4)");
  const resumed = await run(database.url, "--shards", "4");
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.equal(withStatus(resumed.json.tables, "done"), planned - 2);
  assert.equal(await distributed(), planned);
  assert.equal(await count("select count(*) from accounts"), 20);

  const again = await run(database.url);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(withStatus(again.json.tables, "was_done"), planned);
  assert.deepEqual(again.json.functions, []);
});

test("the functions take the row types of the tables, exist on every node, and have no generic plan", async () => {
  const { rows } = await client.query(
    "select oid::regprocedure::text as signature from pg_proc where proname = 'allows_caller_id'",
  );
  assert.deepEqual(rows, [{ signature: "allows_caller_id(bigint,trunks,text)" }]);
  const functions = `select count(*) from pg_proc p where pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;
  const expected = await count(functions);
  const [, ...workers] = citusUrls(new URL(database.url).pathname.slice(1));
  for (const url of workers) {
    const worker = new pg.Client({ connectionString: url });
    await worker.connect();
    assert.equal(Number((await worker.query(functions)).rows[0].count), expected);
    await worker.end();
  }
  const generic = "and proconfig && array['plan_cache_mode=force_generic_plan']";
  assert.equal(await count(`${functions} ${generic}`), 0);
});

test("refuses a worker node", async () => {
  const [, worker] = citusUrls(new URL(database.url).pathname.slice(1));
  const { code, stderr } = await run(worker!);
  assert.equal(code, 1);
  assert.match(stderr, /is a worker node of Citus/);
});

test("refuses while a process of the service is connected", async () => {
  const process = new pg.Client({ connectionString: database.url, application_name: "trunkline" });
  await process.connect();
  const { code, stderr } = await run(database.url);
  await process.end();
  assert.equal(code, 1);
  assert.match(stderr, /The service is running .*: stop every process of it first/);
});

test("a newly defined function has no generic plan on a distributed database", async () => {
  await client.query("update schema_functions set checksum = 'old' where name = 'create_leads'");
  assert.deepEqual(await migrate(database.url), ["functions/create_leads.sql"]);
  assert.deepEqual((await run(database.url, "--dry-run")).json.functions, []);
});

test("a migration changes a function of which only the body for distributed databases changed", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "trunkline-distributed-"));
  t.after(() => rm(dir, { recursive: true }));
  await cp(join(import.meta.dirname, "../../migrations"), dir, { recursive: true });
  const file = join(dir, "distributed/find_dialable.sql");
  const body = await readFile(file, "utf8");
  await writeFile(file, body.replace("begin\n", "begin\n  -- The next version.\n"));
  assert.deepEqual(await migrate(database.url, { dir }), ["functions/find_dialable.sql"]);
  const changed = "select count(*) from pg_proc where prosrc like '%The next version.%'";
  assert.equal(await count(changed), 1);
  assert.deepEqual((await run(database.url, "--dry-run")).json.functions, []);
});
