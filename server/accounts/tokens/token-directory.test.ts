import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, makeToken, type TestAccount } from "../../../test/support/account-factory.ts";
import { Refusal } from "../../lib/errors.ts";
import { accountTokensSubject, openTokenDirectory } from "./token-directory.ts";

let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

let unknown = 0;
/** From so many addresses that no address's own limit is reached. */
const strangersAddress = () => `10.0.${unknown >> 8}.${unknown & 255}`;
const strangersToken = () =>
  `trk_${++unknown + 1_000_000}_${unknown}_${randomBytes(32).toString("hex")}`;

async function whileTokensAreLocked<Result>(
  work: (waiting: () => Promise<number>) => Promise<Result>,
): Promise<Result> {
  const locker = new pg.Client({ connectionString: api.database_url });
  await locker.connect();
  try {
    await locker.query("begin; lock table tokens in access exclusive mode");
    const result = await work(async () => {
      const { rows } = await locker.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_locks
        where not granted and relation = 'tokens'::regclass
          and database = (select oid from pg_database where datname = current_database())`,
      );
      return rows[0]!.waiting;
    });
    await locker.query("commit");
    return result;
  } finally {
    await locker.end();
  }
}

test("a flood of well-formed unknown tokens uses two connections, and is 503 beyond a bounded queue", async (t) => {
  const path = `/api/v1/crm/workspaces/${account.workspace_id}/leads/create`;
  const create = () =>
    api.send("POST", path, { token: account.token, json: { phone: "9876543210" } });
  assert.equal((await create()).status, 201);
  // The entry stays fresh, because the clock stands still however long the flood takes on this machine.
  const now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const flood: Promise<unknown>[] = [];
  await whileTokensAreLocked(async (waiting) => {
    for (let i = 0; i < 12_000; i++) {
      const found = api.app.tokens.find(strangersToken(), strangersAddress);
      flood.push(found.catch((error: unknown) => error));
    }
    await eventually(async () => (await waiting()) >= 2);
    assert.equal((await create()).status, 201);
    assert.equal(await waiting(), 2);
  });
  const found = await Promise.all(flood);
  assert.equal(found.filter((caller) => caller === null).length, 10_000);
  const refused = found.filter((caller) => caller !== null);
  assert.equal(refused.length, 2_000);
  assert.ok(
    refused.every((error) => error instanceof Refusal && error.type === "unavailable"),
    "not all of the others are 503",
  );
});

test("a known, outdated token is looked up before waiting unknown tokens", async () => {
  assert.ok(await api.app.tokens.find(account.token));
  const found: Promise<unknown>[] = [];
  const known = await whileTokensAreLocked(async (waiting) => {
    for (let i = 0; i < 1_000; i++)
      found.push(api.app.tokens.find(strangersToken(), strangersAddress));
    await eventually(async () => (await waiting()) === 2);
    api.app.notifications.send("token", accountTokensSubject(account.account_id));
    const finding = api.app.tokens.find(account.token);
    // Its look-up is at the database, although 998 others wait for theirs.
    await eventually(async () => (await waiting()) === 3);
    return { finding };
  });
  assert.ok(await known.finding);
  await Promise.all(found);
});

test("a flood of unknown tokens from one address delays a new token from another by a few look-ups, and is 503 beyond its own queue", async () => {
  const added = await makeToken(api.app, account);
  let answered = 0;
  let refused = 0;
  const flood = Array.from({ length: 1_000 }, async () => {
    await api.app.tokens
      .find(strangersToken(), () => "192.0.2.1")
      .then(
        () => answered++,
        () => refused++,
      );
  });
  assert.ok(await api.app.tokens.find(added, () => "192.0.2.2"));
  assert.ok(answered < 50, `${answered} unknown tokens came first`);
  await Promise.all(flood);
  assert.deepEqual([answered, refused], [101, 899]);
});

test("guesses at the tokens of others push no known token out, and cost no look-up of a known one", async (t) => {
  const directory = openTokenDirectory(api.app, 2);
  const now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const owner = await makeAccount(api.app);
  assert.ok(await directory.find(owner.token));
  const guess = (token: string) => token.replace(/[^_]+$/, randomBytes(32).toString("hex"));
  for (let i = 0; i < 5; i++)
    assert.equal(await directory.find(guess(await makeToken(api.app, owner))), null);
  await whileTokensAreLocked(async () => {
    assert.ok(await directory.find(owner.token), "it was no longer known");
    assert.equal(await directory.find(guess(owner.token)), null);
  });
});

test("a revoked token is refused after five seconds in a process that no notification reaches", async (t) => {
  const silent = { send: () => {}, on: () => {}, close: async () => {} };
  const directory = openTokenDirectory({ ...api.app, notifications: silent });
  let now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const token = await makeToken(api.app, account);
  assert.ok(await directory.find(token));
  await api.app.db.pool.query(
    "update tokens set revoked_at = now() where account_id = $1 and id = $2",
    [account.account_id, token.split("_")[2]],
  );
  now_ms += 5_001;
  assert.equal(await directory.find(token), null);
});

test("concurrent requests with one new token cost one look-up", async () => {
  const token = await makeToken(api.app, account);
  await whileTokensAreLocked(async (waiting) => {
    const callers = Array.from({ length: 100 }, () => api.app.tokens.find(token));
    await eventually(async () => (await waiting()) >= 1);
    assert.equal(await waiting(), 1);
    void Promise.all(callers);
  });
  assert.ok(await api.app.tokens.find(token));
});

test("a full directory evicts the least recently used token", async (t) => {
  const directory = openTokenDirectory(api.app, 2);
  const now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const owner = await makeAccount(api.app);
  const [used, idle, added] = [
    owner.token,
    await makeToken(api.app, owner),
    await makeToken(api.app, owner),
  ];
  for (const token of [used, idle, used, added]) assert.ok(await directory.find(token));
  await api.app.db.pool.query("update accounts set name = 'Renamed' where account_id = $1", [
    owner.account_id,
  ]);
  const isCached = async (token: string) =>
    (await directory.find(token))!.account.name !== "Renamed";
  assert.deepEqual([await isCached(used), await isCached(added)], [true, true]);
  assert.equal(await isCached(idle), false);
});
