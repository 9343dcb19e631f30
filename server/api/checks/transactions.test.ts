import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { acquireLease } from "../../engine/leases.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("writes of an account that wait for a locked row delay no other account's request and no renewal of a lease", async () => {
  const waiting = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const groups = "/api/v1/groups";
  const make = (name: string, { token } = other) =>
    api.send("POST", groups, { token, json: { name } });
  const { id } = (await make("Import", waiting)).body;
  const importing = new pg.Client({ connectionString: api.database_url });
  await importing.connect();
  const ask = async (sql: string, values: unknown[] = []) =>
    (await importing.query<{ answer: number }>(sql, values)).rows[0]!.answer;
  const times = { lease_ms: 5_000, renew_ms: 200, margin_ms: 1_000 };
  const lease = await acquireLease(api.app, other.account_id, "sender:1", times);
  try {
    await importing.query("begin");
    await importing.query("select from groups where id = $1 for update", [id]);
    const json = { members: [{ phone_number: "9876543210" }] };
    const answers = Array.from({ length: 24 }, () =>
      api.send("POST", `${groups}/${id}/members`, { token: waiting.token, json }),
    );
    await eventually(async () => {
      // Within a transaction, pg_stat_activity is a snapshot unless it is cleared.
      await importing.query("select pg_stat_clear_snapshot()");
      const locked = `select count(*)::int as answer from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`;
      return (await ask(locked)) >= 4;
    });
    assert.equal((await api.send("GET", groups, { token: other.token })).status, 200);
    assert.equal((await make("Other")).status, 201);
    const endOfLease = () =>
      ask(
        "select extract(epoch from expires_at)::float as answer from leases where account_id = $1",
        [other.account_id],
      );
    const end = await endOfLease();
    await eventually(async () => (await endOfLease()) > end, 30);
    assert.ok(lease!.mayProceed());
    await importing.query("rollback");
    await Promise.all(answers);
  } finally {
    await importing.end();
    await lease!.release();
  }
});

test("a write that has waited for more than five seconds is refused, and not applied after its client may have repeated it", async (t) => {
  const account = await makeAccount(api.app);
  const groups = "/api/v1/groups";
  const { token, account_id } = account;
  const { id } = (await api.send("POST", groups, { token, json: { name: "Import" } })).body;
  const importing = new pg.Client({ connectionString: api.database_url });
  await importing.connect();
  try {
    await importing.query("begin");
    await importing.query("select from groups where id = $1 for update", [id]);
    const answers = Array.from({ length: 10 }, (_, at) =>
      api.send("POST", `${groups}/${id}/members`, {
        token,
        json: { members: [{ phone_number: `987654320${at}` }] },
      }),
    );
    await eventually(async () => {
      await importing.query("select pg_stat_clear_snapshot()");
      const { rows } = await importing.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()`,
      );
      return rows[0]!.waiting >= 4;
    });
    const now = performance.now.bind(performance);
    t.mock.method(performance, "now", () => now() + 6_000);
    await importing.query("rollback");
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(
      statuses.toSorted((a, b) => a - b),
      [200, 200, 200, 200, 503, 503, 503, 503, 503, 503],
    );
  } finally {
    await importing.end();
  }
  const members = await api.app.db.pool.query("select from group_members where account_id = $1", [
    account_id,
  ]);
  assert.equal(members.rowCount, 4);
});
