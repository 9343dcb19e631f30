import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { analyzeNewTables } from "./database-upkeep.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("a lead of a fresh database reads no other contacts, however many were created before PostgreSQL analyzes them", async () => {
  const { account_id, workspace_id } = await makeAccount(api.app);
  const { pool } = api.app.db;
  await pool.query(
    `insert into contacts (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
     select $1, $2, '98' || n, '+9198' || n, 'Ada', now(), now() from generate_series(10000000, 10035000) n`,
    [account_id, workspace_id],
  );
  // A session reports its counts once a second at most.
  await eventually(async () => (await analyzeNewTables(api.app)) > 0);
  const client = await pool.connect();
  try {
    await client.query("begin");
    const created = await client.query("select verdict from create_leads($1, $2, now())", [
      account_id,
      JSON.stringify([
        {
          ordinal: 1,
          workspace_id,
          schema_version: 1,
          name: "Ada",
          phone: "9810000001",
          phone_e164: "+919810000001",
          status_id: 1,
          priority_id: 1,
          custom_fields: {},
          created_by: 1,
        },
      ]),
    ]);
    assert.equal(created.rows[0].verdict, "created");
    const { rows } = await client.query(
      `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'contacts'`,
    );
    assert.ok(rows[0].read < 10, `${rows[0].read} contacts were read`);
  } finally {
    await client.query("rollback");
    client.release();
  }
  assert.equal(await analyzeNewTables(api.app), 0, "each is analyzed once");
});
