import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { clientTransaction } from "./client-transaction.ts";
import type { Database } from "./database.ts";

let database: TestDatabase;
before(async () => {
  database = await cloneDatabase();
});
after(() => database.drop());

test("a long transaction's statements may last longer than the pool lets any other", async () => {
  const pool = new pg.Pool({
    connectionString: database.url,
    statement_timeout: 2_000,
    query_timeout: 3_000,
  });
  const db = { pool } as unknown as Database;
  try {
    await assert.rejects(pool.query("select pg_sleep(10)"), /timeout/);
    await clientTransaction(db, 20, async (tx) => {
      await sql`select pg_sleep(${4})`.execute(tx);
    });
    await assert.rejects(
      clientTransaction(db, 1, async (tx) => {
        await sql`select pg_sleep(${5})`.execute(tx);
      }),
      /statement timeout/,
    );
  } finally {
    await pool.end();
  }
});
