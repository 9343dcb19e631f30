import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import pg from "pg";
import { emptyDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { migrate, pendingMigrations } from "./migrate.ts";
import { MigrationError } from "./migration-error.ts";

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

/** Writes a function file and its revision into a folder of migrations. */
async function writeFunction(copy: string, name: string, revision: number, sql: string) {
  await writeFile(join(copy, "functions", `${name}.sql`), sql);
  const file = join(copy, "functions.json");
  const revisions = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  await writeFile(file, JSON.stringify({ ...revisions, [name]: { revision, checksum: "" } }));
}

const answer = (value: number) => `create or replace function answer() returns int
language plpgsql as $$ begin return ${value}; end $$;`;

/** Two versions: the second has a newer revision of the function `answer`. */
async function twoVersions(name: string): Promise<{ older: string; newer: string }> {
  const [older, newer] = [await folder(`${name}-older`), await folder(`${name}-newer`)];
  await writeFunction(older, "answer", 1, answer(1));
  await writeFunction(newer, "answer", 2, answer(2));
  return { older, newer };
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const query = <Row extends pg.QueryResultRow>(url: string, text: string) =>
  withClient(url, async (client) => (await client.query<Row>(text)).rows);

async function tables(url: string): Promise<number> {
  const rows = await query<{ count: number }>(
    url,
    "select count(*)::int from information_schema.tables where table_schema = 'public'",
  );
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

test("a session that holds the lock for migrations stops no start on a current schema, and is named where a migration is missing", async () => {
  const url = await fresh();
  const copy = await folder("locked");
  await migrate(url, { dir: copy });
  await withClient(`${url}?application_name=frozen-trunkline`, async (holder) => {
    await holder.query("select pg_advisory_lock(7286542001)");
    const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
    assert.deepEqual(await migrate(url, { dir: copy }), []);
    await writeFile(join(copy, "9999-missing.sql"), "create table missing ();");
    await assert.rejects(migrate(url, { dir: copy, wait_ms: 50 }), (error) => {
      assert.ok(error instanceof MigrationError);
      const session = `PostgreSQL session ${rows[0]!.pid} \\(application_name frozen-trunkline, `;
      assert.match(error.message, new RegExp(session));
      assert.match(error.message, new RegExp(`pg_terminate_backend\\(${rows[0]!.pid}\\)$`));
      return true;
    });
  });
  assert.deepEqual(await migrate(url, { dir: copy }), ["9999-missing.sql"]);
});

test("a migration that changed after it ran stops the start and is named", async () => {
  const url = await fresh();
  const copy = await folder("changed");
  await migrate(url, { dir: copy });
  await writeFile(join(copy, "0002-events.sql"), "select 1;");
  await assert.rejects(migrate(url, { dir: copy }), (error) => {
    assert.ok(error instanceof MigrationError);
    assert.match(error.message, /0002-events\.sql has changed/);
    return true;
  });
});

test("a version starts on the schema of the next one, changes nothing and is ready", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("ahead");
  await writeFile(
    join(newer, "9999-next.sql"),
    "-- contract since 0001: nothing calls it.\ndrop function check_lease; create table next ();",
  );
  await rm(join(newer, "functions/check_lease.sql"));
  await migrate(url, { dir: older });
  await migrate(url, { dir: newer });
  assert.deepEqual(await migrate(url, { dir: older }), []);
  assert.deepEqual(await query(url, "select answer(), to_regproc('check_lease') as dropped"), [
    { answer: 2, dropped: null },
  ]);
  // The working tree is a version without the last migration, too.
  await withClient(url, async (client) => assert.deepEqual(await pendingMigrations(client), []));
});

test("a version does not start on a schema that took away what it uses, and names the migration that it needs", async () => {
  const url = await fresh();
  const copy = await folder("contracted");
  await writeFile(join(copy, "9998-expand.sql"), "create table more ();");
  const between = await folder("between");
  await writeFile(join(between, "9998-expand.sql"), "create table more ();");
  await writeFile(
    join(copy, "9999-contract.sql"),
    "-- contract since 9998: nothing reads it.\ncreate table less ();",
  );
  await migrate(url, { dir: copy });
  await assert.rejects(
    migrate(url),
    /9999-contract\.sql, which took away what this version uses: start a version that has migration 9998/,
  );
  assert.deepEqual(await migrate(url, { dir: between }), []);
});

test("a version that has a migration which a newer database lacks does not start", async () => {
  const url = await fresh();
  const [one, other] = [await folder("branch-one"), await folder("branch-other")];
  await writeFile(join(one, "9998-one.sql"), "create table one ();");
  await writeFile(join(other, "9999-other.sql"), "create table other ();");
  await migrate(url, { dir: one });
  await assert.rejects(
    migrate(url, { dir: other }),
    /has migration 9998-one\.sql, which this version does not know, and lacks 9999-other\.sql/,
  );
});

test("a failed migration changes nothing and can be run again", async () => {
  const url = await fresh();
  const copy = await folder("failing");
  await migrate(url);
  const tablesBefore = await tables(url);
  await writeFile(join(copy, "9999-half.sql"), "create table half (); select 1/0;");
  await assert.rejects(migrate(url, { dir: copy }), /9999-half\.sql failed: division by zero/);
  assert.equal(await tables(url), tablesBefore);
  await writeFile(join(copy, "9999-half.sql"), "create table half ();");
  assert.deepEqual(await migrate(url, { dir: copy }), ["9999-half.sql"]);
});

test("a function whose file changed is replaced once, and no other function is", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("changed-function");
  await migrate(url, { dir: older });
  assert.deepEqual(await migrate(url, { dir: newer }), ["functions/answer.sql"]);
  assert.deepEqual(await query(url, "select answer()"), [{ answer: 2 }]);
  assert.deepEqual(await migrate(url, { dir: newer }), []);
});

test("functions are changed together with the last migration or not at all", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("together");
  await migrate(url, { dir: older });
  await writeFile(join(newer, "9999-more.sql"), "create table more ();");
  await writeFunction(newer, "broken", 1, "create or replace function broken() returns nothing");
  await assert.rejects(
    migrate(url, { dir: newer }),
    /functions\/broken\.sql failed: no language specified/,
  );
  assert.deepEqual(await query(url, "select answer(), to_regclass('more') as more"), [
    { answer: 1, more: null },
  ]);
});

test("a process that was connected before an upgrade calls the new function on the same connection", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("connected");
  await migrate(url, { dir: older });
  await withClient(url, async (client) => {
    const call = { name: "call", text: "select answer()" };
    assert.deepEqual((await client.query(call)).rows, [{ answer: 1 }]);
    await migrate(url, { dir: newer });
    assert.deepEqual((await client.query(call)).rows, [{ answer: 2 }]);
  });
});

test("an older version starts on newer functions, and replaces and removes none", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("downgrade");
  await migrate(url, { dir: newer });
  assert.deepEqual(await migrate(url, { dir: older }), []);
  assert.deepEqual(await migrate(url), []);
  assert.deepEqual(await query(url, "select answer()"), [{ answer: 2 }]);
});

test("when an older and a newer version start at once, the newer functions remain", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("at-once");
  const [, upgraded] = await Promise.allSettled([
    migrate(url, { dir: older }),
    migrate(url, { dir: newer }),
    migrate(url, { dir: older }),
  ]);
  assert.equal(upgraded.status, "fulfilled");
  assert.deepEqual(await query(url, "select answer()"), [{ answer: 2 }]);
});

test("a signature changes only when a migration drops the function with the old one", async () => {
  const url = await fresh();
  const { older, newer } = await twoVersions("signature");
  await migrate(url, { dir: older });
  await writeFunction(newer, "answer", 2, answer(2).replace("returns int", "returns bigint"));
  await assert.rejects(
    migrate(url, { dir: newer }),
    /answer\.sql failed: cannot change return type of existing function; drop the old signature in a numbered/,
  );
  await writeFunction(newer, "answer", 2, answer(2).replace("answer()", "answer(p_more int)"));
  await assert.rejects(
    migrate(url, { dir: newer }),
    /answer has 2 signatures in the database and one in/,
  );
  await writeFile(join(newer, "9999-drop.sql"), "drop function answer();");
  assert.deepEqual(await migrate(url, { dir: newer }), ["9999-drop.sql", "functions/answer.sql"]);
});

test("a function that is missing in the database is defined again", async () => {
  const url = await fresh();
  const { older } = await twoVersions("missing-function");
  await migrate(url, { dir: older });
  await query(url, "drop function answer()");
  assert.deepEqual(await migrate(url, { dir: older }), ["functions/answer.sql"]);
});

test("a function that a migration dropped is defined again although its file did not change", async () => {
  const url = await fresh();
  const { older } = await twoVersions("defined-again");
  await migrate(url, { dir: older });
  await writeFile(join(older, "9999-drop.sql"), "drop function answer();");
  assert.deepEqual(await migrate(url, { dir: older }), ["9999-drop.sql", "functions/answer.sql"]);
});

test("a file in functions/ must define the function it is named after", async () => {
  const copy = await folder("misnamed");
  await writeFunction(copy, "question", 1, answer(1));
  await assert.rejects(
    migrate(await fresh(), { dir: copy }),
    /functions\/question\.sql does not define function question/,
  );
});

test("a database that ran the migrations while they defined functions is upgraded", async () => {
  const url = await fresh();
  const applied = await migrate(url);
  const former = JSON.parse(
    await readFile(join(migrations_dir, "former-checksums.json"), "utf8"),
  ) as Record<string, string>;
  await withClient(url, async (client) => {
    for (const [name, checksum] of Object.entries(former)) {
      const { rowCount } = await client.query(
        "update migrations set checksum = $2 where name = $1 and checksum <> $2",
        [name, checksum],
      );
      assert.equal(rowCount, 1, name);
    }
    await client.query("drop table schema_functions");
  });
  const functions = applied.filter((file) => file.startsWith("functions/"));
  assert.deepEqual(await migrate(url), functions);
});

test("reports functions of an older revision as pending until they are migrated, but not newer ones", async () => {
  const url = await fresh();
  await migrate(url);
  await withClient(url, async (client) => {
    assert.deepEqual(await pendingMigrations(client), []);
    await client.query("update schema_functions set revision = 0 where name = 'write_call'");
    assert.deepEqual(await pendingMigrations(client), ["functions/write_call.sql"]);
    assert.deepEqual(await migrate(url), ["functions/write_call.sql"]);
    assert.deepEqual(await pendingMigrations(client), []);
    await client.query("update schema_functions set revision = 1000 where name = 'write_call'");
    assert.deepEqual(await pendingMigrations(client), []);
  });
});

/** SQL without comments and without what stands between dollar quotes. */
const outline = (sql: string) => sql.replaceAll(/\$\$.*?\$\$|--.*?$/gms, "");

test("numbered migrations define no functions: each has one file in migrations/functions", async () => {
  const numbered = (await readdir(migrations_dir)).filter((file) => /^\d{4}-/.test(file));
  for (const file of numbered) {
    const sql = outline(await readFile(join(migrations_dir, file), "utf8"));
    assert.doesNotMatch(sql, /\b(create|alter)\s+(or\s+replace\s+)?(function|procedure)\b/i, file);
  }
});

test("each file in migrations/functions consists of one definition that can be repeated", async () => {
  for (const file of await readdir(join(migrations_dir, "functions"))) {
    const sql = await readFile(join(migrations_dir, "functions", file), "utf8");
    const definition = new RegExp(
      `^\\s*create or replace function ${file.replace(/\.sql$/, "")}\\([^;]*;\\s*$`,
    );
    assert.match(outline(sql), definition, file);
  }
});

test("a function takes and returns the same on a distributed database", async () => {
  const head = async (kind: string, file: string) => {
    const sql = outline(await readFile(join(migrations_dir, kind, file), "utf8"));
    const [definition] = new RegExp(
      `create or replace function ${file.replace(/\.sql$/, "")}\\(.*?(?=\\blanguage\\b)`,
      "s",
    ).exec(sql)!;
    return definition.replaceAll(/\s+/g, " ");
  };
  for (const file of await readdir(join(migrations_dir, "distributed")))
    assert.equal(await head("distributed", file), await head("functions", file));
});

test("every function of the schema has a file and a body that PostgreSQL accepts", async () => {
  const url = await fresh();
  await migrate(url);
  const functions = await query<{ name: string }>(
    url,
    `select p.proname as name, case l.lanname
       when 'sql' then fmgr_sql_validator(p.oid) when 'plpgsql' then plpgsql_validator(p.oid) end
     from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace = 'public'::regnamespace order by p.proname`,
  );
  assert.deepEqual(
    functions.map(({ name }) => `${name}.sql`),
    (await readdir(join(migrations_dir, "functions"))).toSorted(),
  );
});
