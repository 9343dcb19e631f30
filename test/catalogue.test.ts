// Checks the schema rules that allow every table to be distributed by account against the database.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import pg from "pg";
import { cloneDatabase, type TestDatabase } from "./support/database.ts";

type Kind = "tenant" | "reference" | "operator";
const manifest = JSON.parse(
  readFileSync(new URL("../migrations/tables.json", import.meta.url), "utf8"),
) as Record<string, Kind>;
const tenantTables = Object.keys(manifest).filter((table) => manifest[table] === "tenant");

let database: TestDatabase;
let client: pg.Client;

before(async () => {
  database = await cloneDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

const rows = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
  (await client.query<Row>(text, values)).rows;

test("the manifest lists exactly the tables of the schema, each as tenant, reference or operator", async () => {
  const tables = await rows<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
  );
  assert.deepEqual(
    tables.map(({ name }) => name),
    Object.keys(manifest).toSorted(),
  );
  for (const kind of Object.values(manifest)) assert.match(kind, /^(tenant|reference|operator)$/);
});

test("the first column of every tenant table is account_id bigint not null", async () => {
  const columns = await rows<{ name: string; column: string; type: string; nullable: string }>(
    `select table_name as name, column_name as column, data_type as type, is_nullable as nullable
     from information_schema.columns where table_schema = 'public' and ordinal_position = 1
       and table_name = any($1)`,
    [tenantTables],
  );
  assert.equal(columns.length, tenantTables.length);
  for (const { name, column, type, nullable } of columns) {
    assert.deepEqual([name, column, type, nullable], [name, "account_id", "bigint", "NO"]);
  }
});

test("account_id leads every primary key, unique key, unique index and foreign key of a tenant table", async () => {
  const keys = await rows<{ table: string; key: string; first: string }>(
    `select c.relname as table, k.conname as key, a.attname as first
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
     where k.contype in ('p', 'u', 'f') and c.relname = any($1)
     union all
     select c.relname, i.indexrelid::regclass::text, a.attname
     from pg_index i join pg_class c on c.oid = i.indrelid
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where i.indisunique and c.relname = any($1)`,
    [tenantTables],
  );
  assert.ok(keys.length >= tenantTables.length);
  for (const { table, key, first } of keys) {
    assert.equal(first, "account_id", `${key} of ${table}`);
  }
});

test("a foreign key of a tenant table references by account_id and never an operator table", async () => {
  const keys = await rows<{ key: string; target: string; first: string }>(
    `select k.conname as key, t.relname as target, a.attname as first
     from pg_constraint k join pg_class t on t.oid = k.confrelid
     join pg_attribute a on a.attrelid = k.confrelid and a.attnum = k.confkey[1]
     join pg_class c on c.oid = k.conrelid
     where k.contype = 'f' and c.relname = any($1)`,
    [tenantTables],
  );
  assert.ok(keys.length > 0);
  for (const { key, target, first } of keys) {
    assert.notEqual(manifest[target], "operator", key);
    assert.equal(first, "account_id", key);
  }
});

test("identity columns are bigint", async () => {
  const identities = await rows<{ column: string; type: string }>(
    `select table_name || '.' || column_name as column, data_type as type
     from information_schema.columns where table_schema = 'public' and is_identity = 'YES'`,
  );
  assert.ok(identities.length > 0);
  for (const { column, type } of identities) assert.equal(type, "bigint", column);
  const serials = await rows(
    "select 1 from information_schema.columns where table_schema = 'public' and column_default like 'nextval%'",
  );
  assert.equal(serials.length, 0);
});

test("no table has a trigger", async () => {
  assert.deepEqual(await rows("select tgname from pg_trigger where not tgisinternal"), []);
});

test("every constraint by whose name a violation is recognized exists", async () => {
  const server = new URL("../server/", import.meta.url);
  const files = readdirSync(server, { recursive: true, encoding: "utf8" });
  const names = files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => [
      ...readFileSync(new URL(file, server), "utf8").matchAll(
        /violates(?:Unique|ForeignKey)\([a-z]+, "(\w+)"/g,
      ),
    ])
    .map(([, name]) => name!);
  assert.ok(names.length >= 10);
  const known = await rows<{ name: string }>(
    "select conname as name from pg_constraint union select indexname from pg_indexes",
  );
  const missing = names.filter((name) => !known.some((one) => one.name === name));
  assert.deepEqual(missing, []);
});
