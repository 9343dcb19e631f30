// `trunkline migrate` on a database that is distributed already: `npm run test:citus`.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import pg from "pg";
import { distributeTables, readPlan } from "../../server/lib/database/distribute-tables.ts";
import { readManifest } from "../../server/lib/database/plan-tables.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { migrateAndDistribute } from "../support/citus.ts";
import { emptyCitusDatabase } from "../support/database.ts";

const migrations_dir = join(import.meta.dirname, "../../migrations");
/** Migrations before it have several subcommands in an ALTER, which Citus refuses. */
const first_on_citus = "0052";

async function openCitus(t: TestContext) {
  const database = await emptyCitusDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set client_min_messages = warning");
  const dir = await mkdtemp(join(tmpdir(), "trunkline-upgrade-"));
  t.after(async () => {
    await client.end();
    await database.drop();
    await rm(dir, { recursive: true });
  });
  const rowsOf = async (text: string) => (await client.query(text)).rows;
  const placements = () =>
    rowsOf("select table_name::text as table, citus_table_type as kind from citus_tables");
  return { database, client, dir, rowsOf, placements };
}

test("each migration since 0052 runs on a distributed database, and its tables are distributed", async (t) => {
  const { database, client, dir, rowsOf, placements } = await openCitus(t);
  for (const file of ["tables.json", "former-checksums.json"])
    await cp(join(migrations_dir, file), join(dir, file));
  // The functions of this version need its tables.
  await writeFile(join(dir, "functions.json"), "{}");
  for (const folder of ["functions", "distributed"]) await mkdir(join(dir, folder));
  const files = (await readdir(migrations_dir)).filter((file) => /^\d{4}-/.test(file)).toSorted();
  const copy = (file: string) => cp(join(migrations_dir, file), join(dir, file));
  for (const file of files) if (file < first_on_citus) await copy(file);
  await migrate(database.url, { dir });
  const manifest = readManifest(dir);
  const plan = async () => {
    const found = await rowsOf("select relname from pg_class where relkind = 'r'");
    const existing = new Set(found.map(({ relname }) => relname));
    return (await readPlan(client, manifest)).filter(({ table }) => existing.has(table));
  };
  await distributeTables(client, await plan(), 2, () => {});
  await client.query(
    "insert into accounts (account_id, name, created_at, updated_at) values (1, 'a', now(), now())",
  );
  for (const file of files) {
    if (file < first_on_citus) continue;
    await copy(file);
    await migrate(database.url, { dir });
    const open = (await plan()).filter(({ done, placement }) => !done && placement !== "local");
    assert.deepEqual(open, [], `after ${file}`);
  }
  assert.ok((await placements()).length > 80);
});

test("a migration adds tables with references, columns, constraints, indexes and values to a distributed database", async (t) => {
  const { database, client, dir, rowsOf, placements } = await openCitus(t);
  await migrateAndDistribute(database.url);
  await client.query(
    "insert into accounts (account_id, name, created_at, updated_at) select i, 'a', now(), now() from generate_series(1, 3000) i",
  );
  await cp(migrations_dir, dir, { recursive: true });
  const manifest = JSON.parse(await readFile(join(dir, "tables.json"), "utf8"));
  const added = { labels: "tenant", label_uses: "tenant", countries: "reference" };
  await writeFile(join(dir, "tables.json"), JSON.stringify({ ...manifest, ...added }));
  await writeFile(join(dir, "9001-labels.sql"), together);
  await writeFile(join(dir, "9002-label-uses.sql"), per_statement);
  const applied = await migrate(database.url, { dir });
  assert.deepEqual(
    applied.filter((file) => file.startsWith("9")),
    ["9001-labels.sql", "9002-label-uses.sql"],
  );
  const found = (await placements()).filter(({ table }) => table in added);
  assert.deepEqual(Object.fromEntries(found.map(({ table, kind }) => [table, kind])), {
    labels: "distributed",
    label_uses: "distributed",
    countries: "reference",
  });
  const [{ scored }] = await rowsOf("select count(*)::int as scored from accounts where score = 1");
  assert.equal(scored, 3_000);
  await assert.rejects(
    client.query("insert into label_uses (account_id, id, label_id) values (1, 1, 99)"),
    { code: "23503" },
  );
  await assert.rejects(client.query("update accounts set score = null where account_id = 5"), {
    code: "23502",
  });
  await client.query("insert into labels (account_id, id, country) values (7, 1, null)");
  await client.query("insert into label_uses (account_id, id, label_id) values (7, 1, 1)");
  assert.deepEqual(await migrate(database.url, { dir }), []);
});

test("a migration waits for a transaction of a worker node in short attempts, and then runs", async (t) => {
  const { database, client, dir, rowsOf } = await openCitus(t);
  await migrateAndDistribute(database.url);
  await cp(migrations_dir, dir, { recursive: true });
  await writeFile(join(dir, "9001-points.sql"), "alter table accounts add column points int;");
  await client.query(
    "insert into accounts (account_id, name, created_at, updated_at) values (1, 'a', now(), now())",
  );
  const [shard] = await rowsOf(
    `select shard_name as name, nodeport as port from citus_shards
     where shardid = get_shard_id_for_distribution_column('accounts', 1)`,
  );
  const url = new URL(database.url);
  url.port = String(shard.port);
  // As a delegated function does, which takes no lock on the coordinator.
  const worker = new pg.Client({ connectionString: url.href });
  await worker.connect();
  await worker.query("begin");
  await worker.query(`update ${shard.name} set name = 'b' where account_id = 1`);
  const waits: string[] = [];
  await migrate(database.url, {
    dir,
    report: (line) => {
      if (waits.push(line) === 2) void worker.query("commit");
    },
  });
  await worker.end();
  for (const line of waits) assert.match(line, /could not lock its tables/);
  assert.deepEqual(await rowsOf("select name, points from accounts where account_id = 1"), [
    { name: "b", points: null },
  ]);
});

const together = `
create table countries (code text not null, name text not null, primary key (code));
create table if not exists labels (
  account_id bigint not null, id bigint not null, country text, primary key (account_id, id)
);
alter table labels add constraint labels_account_id_fkey
  foreign key (account_id) references accounts (account_id) on delete cascade;
alter table labels add constraint labels_country_fkey foreign key (country) references countries (code);
create index labels_by_country on labels (account_id, country);
alter table accounts add column labels_max int;
`;

const per_statement = `-- transaction: per statement
create table label_uses (
  account_id bigint not null, id bigint not null, label_id bigint not null, primary key (account_id, id)
);
alter table label_uses add constraint label_uses_label_id_fkey
  foreign key (account_id, label_id) references labels (account_id, id);
alter table accounts add column score int;
alter table accounts alter column score set default 0;
update accounts set score = 1 where score is null and batch_of(accounts);
alter table accounts add constraint accounts_score_check check (score is not null) not valid;
alter table accounts validate constraint accounts_score_check;
alter table accounts alter column score set not null;
alter table accounts drop constraint accounts_score_check;
create index concurrently if not exists accounts_by_score on accounts (account_id, score);
`;
