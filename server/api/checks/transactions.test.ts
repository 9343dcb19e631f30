import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { acquireLease } from "../../engine/leases.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const suppressions = "/api/v1/suppressions";

/** Suppresses the phones in a transaction that stays open, so that requests that suppress one of them wait. */
async function lockPhones(client: pg.Client, account_id: number, phones: readonly string[]) {
  await client.query("begin");
  await client.query(
    `insert into suppressions (account_id, person_key, phone, channel, scope, reason, source, occurred_at, created_at)
     select $1, phone_key(phone), phone, 'all', 'all', 'import', 'manual', now(), now() from unnest($2::text[]) phone`,
    [account_id, phones.map((phone) => `91${phone}`)],
  );
}

test("writes of an account that wait for a locked row delay no other account's request and no renewal of a lease", async () => {
  const waiting = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const groups = "/api/v1/groups";
  const make = (name: string) => api.send("POST", groups, { token: other.token, json: { name } });
  const importing = new pg.Client({ connectionString: api.database_url });
  await importing.connect();
  const ask = async (sql: string, values: unknown[] = []) =>
    (await importing.query<{ answer: number }>(sql, values)).rows[0]!.answer;
  const times = { lease_ms: 5_000, renew_ms: 200, margin_ms: 1_000 };
  const lease = await acquireLease(api.app, other.account_id, "sender:1", times);
  try {
    await lockPhones(importing, waiting.account_id, ["9876543210"]);
    const json = { phone_number: "9876543210" };
    const answers = Array.from({ length: 24 }, () =>
      api.send("POST", suppressions, { token: waiting.token, json }),
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
  const { token, account_id } = await makeAccount(api.app);
  const phones = Array.from({ length: 10 }, (_, at) => `987654320${at}`);
  const importing = new pg.Client({ connectionString: api.database_url });
  await importing.connect();
  try {
    await lockPhones(importing, account_id, phones);
    const answers = phones.map((phone_number) =>
      api.send("POST", suppressions, { token, json: { phone_number } }),
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
      [201, 201, 201, 201, 503, 503, 503, 503, 503, 503],
    );
  } finally {
    await importing.end();
  }
  const stored = await api.app.db.pool.query("select from suppressions where account_id = $1", [
    account_id,
  ]);
  assert.equal(stored.rowCount, 4);
});

/** Two groups and an agent group, which an open transaction has locked, and ten requests that change each of them. */
async function writeIntoLockedGroups(
  locking: pg.Client,
  { token, account_id }: { readonly token: string; readonly account_id: number },
) {
  const [groups, agent_groups] = ["/api/v1/groups", "/api/v1/agent-groups"];
  const make = async (path: string, name: string) => {
    const { status, body, text } = await api.send("POST", path, { token, json: { name } });
    assert.equal(status, 201, text);
    return `${path}/${body.id}/members`;
  };
  const members = { members: [{ phone_number: "9876543210" }] };
  const into = [
    [await make(groups, "First"), members],
    [await make(groups, "Second"), members],
    [await make(agent_groups, "Agents"), { number: "9876543210" }],
  ] as const;
  await locking.query("begin");
  for (const table of ["groups", "agent_groups"])
    await locking.query(`select from ${table} where account_id = $1 for update`, [account_id]);
  return into.flatMap(([path, json]) =>
    Array.from({ length: 10 }, () => api.send("POST", path, { token, json })),
  );
}

test("a campaign is cancelled and a call hung up while many writes of two accounts wait for locked groups", async () => {
  const account = await makeAccount(api.app);
  const second = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10, call: 10 });
  const number = await makeChatNumber(api.app, account);
  const template = await makeChatTemplate(api.app, account, number);
  const recipients = [{ phone: "919876543210" }];
  const campaign = await makeChatCampaign(api.app, account, number, template, recipients);
  const call = await makeCall(api.app, account);
  const locking = new pg.Client({ connectionString: api.database_url });
  const also = new pg.Client({ connectionString: api.database_url });
  await Promise.all([locking.connect(), also.connect()]);
  try {
    const answers = [
      ...(await writeIntoLockedGroups(locking, account)),
      ...(await writeIntoLockedGroups(also, second)),
    ];
    await awaitsLock(api.app.db.query, 4);
    const { token } = account;
    for (const path of [`chat/campaigns/${campaign}/cancel`, `calls/${call.id}/hangup`]) {
      const { status, text } = await api.send("POST", `/api/v1/${path}`, { token });
      assert.equal(status, 200, text);
    }
    await awaitsLock(api.app.db.query, 4);
    await Promise.all([locking.query("rollback"), also.query("rollback")]);
    await Promise.all(answers);
  } finally {
    await Promise.all([locking.end(), also.end()]);
  }
});
