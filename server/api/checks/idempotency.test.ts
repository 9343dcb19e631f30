import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { canonicalJson } from "../../lib/canonical-json.ts";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const createLead = (of: TestAccount, headers: Record<string, string> = {}) =>
  api.send("POST", `/api/v1/crm/workspaces/${of.workspace_id}/leads/create`, {
    token: of.token,
    json: { phone: "9876543210" },
    headers,
  });

test("the current password cannot be guessed from what is stored of a request", async () => {
  const of = await makeAccount(api.app);
  const { body: me } = await api.send("GET", "/api/v1/me", of);
  const json = { current_password: "correct horse battery" };
  const headers = { "idempotency-key": "key" };
  const path = `/api/v1/users/${me.user.id}`;
  const { status, text } = await api.send("PATCH", path, { token: of.token, json, headers });
  assert.equal(status, 200, text);
  const { request_sha256 } = await api.app.db.query
    .selectFrom("idempotency_keys")
    .select("request_sha256")
    .where("account_id", "=", of.account_id)
    .executeTakeFirstOrThrow();
  const params = { id: me.user.id };
  const guess = canonicalJson({ params, query: {}, body: json });
  assert.notDeepEqual(request_sha256, createHash("sha256").update(guess).digest());
  const again = await api.send("PATCH", path, { token: of.token, json, headers });
  assert.equal(again.headers.get("idempotency-replayed"), "true");
});

test("waiting for keys in use by another process does not exhaust the connections", async () => {
  const hanging = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const frozen = new pg.Client({ connectionString: api.database_url });
  await frozen.connect();
  try {
    await frozen.query("begin");
    await frozen.query(
      `insert into idempotency_keys
         (account_id, endpoint, key, request_sha256, status, response, created_at)
       select $1, 'createLead', 'key-' || i, '', 201, '', now() from generate_series(1, 12) i`,
      [hanging.account_id],
    );
    const waiting = Array.from({ length: 24 }, (_, i) =>
      createLead(hanging, { "idempotency-key": `key-${(i % 12) + 1}` }),
    );
    await eventually(async () => {
      // Within a transaction, pg_stat_activity is a snapshot unless it is cleared.
      await frozen.query("select pg_stat_clear_snapshot()");
      const { rows } = await frozen.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows[0]!.waiting >= 4;
    });
    assert.equal((await createLead(hanging)).status, 201);
    assert.equal((await createLead(other)).status, 201);
    assert.equal((await createLead(other, { "idempotency-key": "key" })).status, 201);
    await frozen.query("rollback");
    const answers = await Promise.all(waiting);
    assert.ok(answers.every(({ status }) => status === 201));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 12);
  } finally {
    await frozen.end();
  }
});

test("two users of an account change their own settings under one key, each with effect", async () => {
  const account = await makeAccount(api.app);
  const headers = { "idempotency-key": "mine" };
  const json = { page: "leads", name: "Mine", search: {}, columns: [] };
  const save = (token: string) => api.send("POST", "/api/v1/saved-views", { token, headers, json });
  const ann = await makeAgentToken(api.app, account, []);
  const bob = await makeAgentToken(api.app, account, []);
  const of_ann = await save(ann);
  const of_bob = await save(bob);
  assert.deepEqual([of_ann.status, of_bob.status], [201, 201]);
  assert.notEqual(of_bob.body.id, of_ann.body.id);
  const again = await save(ann);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, of_ann.body);
});
