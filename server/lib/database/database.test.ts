import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { cloneDatabase } from "../../../test/support/database.ts";
import { openDatabase } from "./database.ts";
import { openLog, type Log } from "../log.ts";

let database: Awaited<ReturnType<typeof cloneDatabase>>;
before(async () => {
  database = await cloneDatabase();
});
after(() => database.drop());

/** Returns the messages that are logged when the server ends a connection of our pool. */
async function messagesOnDisconnect({ closing }: { closing: boolean }): Promise<string[]> {
  const logged: string[] = [];
  const log = openLog("silent", { readable: false });
  const listening: Log = Object.assign(Object.create(log) as Log, {
    warn: (_fields: unknown, text: string) => void logged.push(text),
  });
  const db = openDatabase(database.url, listening);
  const client = await db.pool.connect();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const closed = closing ? db.close() : null;
  const operator = new pg.Client(database.url);
  await operator.connect();
  const ended = new Promise<void>((resolve) => {
    client.once("end", () => resolve());
  });
  await operator.query("select pg_terminate_backend($1)", [rows[0]!.pid]);
  await ended;
  await operator.end();
  client.release();
  await (closed ?? db.close());
  return logged;
}

test("compiles no statement and plans each page of a list for its values", async () => {
  const db = openDatabase(database.url, openLog("silent", { readable: false }), { connections: 1 });
  await db.pool.query(`alter database ${new URL(database.url).pathname.slice(1)} set jit = on`);
  const fresh = openDatabase(database.url, openLog("silent", { readable: false }), {
    connections: 1,
  });
  const { rows } = await fresh.pool.query<{ jit: string }>("show jit");
  assert.deepEqual(rows, [{ jit: "off" }]);
  const accounts = fresh.query.selectFrom("accounts").select("name").where("account_id", "=", 1);
  await accounts.execute();
  await accounts.orderBy("name").limit(51).execute();
  const prepared = await fresh.pool.query<{ statement: string }>(
    "select statement from pg_prepared_statements",
  );
  assert.deepEqual(
    prepared.rows.map(({ statement }) => statement),
    ['select "name" from "accounts" where "account_id" = $1'],
  );
  await fresh.close();
  await db.close();
});

test("logs a lost connection while the database is in use, but not while it closes", async () => {
  assert.notDeepEqual(await messagesOnDisconnect({ closing: false }), []);
  assert.deepEqual(await messagesOnDisconnect({ closing: true }), []);
});

test("a statement that is given up takes its connection along, so that no later one runs in its transaction", async () => {
  const log = openLog("silent", { readable: false });
  const impatient = `${database.url}?query_timeout=2000`;
  const db = openDatabase(impatient, log, { connections: 1 });
  const patient = openDatabase(database.url, log);
  await patient.pool.query("create table given_up (id int)");
  const { rows } = await db.pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  const { pid } = rows[0]!;
  process.kill(pid, "SIGSTOP");
  try {
    await assert.rejects(
      db.query.transaction().execute(async () => {}),
      /query read timeout/i,
    );
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await db.pool.query("insert into given_up values (1)");
  assert.deepEqual((await patient.pool.query("select id from given_up")).rows, [{ id: 1 }]);
  await db.close();
  await patient.close();
});
