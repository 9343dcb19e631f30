import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeChatNumber, type TestChatNumber } from "../../../test/support/chat-factory.ts";
import {
  changeHook,
  messageHook,
  openTestWhatsapp,
  statusHook,
} from "../../../test/support/chat-webhooks.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { openDatabase } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { openWebhookReceiver } from "./webhook-receiver.ts";

let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;
let admin: pg.Client;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
  account = await makeAccount(api.app);
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  admin = new pg.Client({ connectionString: api.database_url });
  await admin.connect();
});
after(async () => {
  await admin.end();
  await api.close();
});

const sentHook = (of = number) => statusHook(of, [{ id: unique("wamid"), status: "sent" }]);

const take = (body: string) => api.app.webhookReceiver.take("whatsapp", body);

/** Ids of the messages whose statuses are stored. */
async function storedIds(of: TestAccount): Promise<string[]> {
  const { rows } = await admin.query<{ id: string }>(
    `select w.value #>> '{entry,0,changes,0,value,statuses,0,id}' as id
     from chat_inbox i, json_array_elements(i.body) w where i.account_id = $1`,
    [of.account_id],
  );
  return rows.map(({ id }) => id);
}

test("while the database is busy a bounded number waits, the rest is 503, and what was taken is stored once", async () => {
  await api.app.webhookReceiver.take("whatsapp", sentHook());
  const before_ids = new Set(await storedIds(account));
  const hooks = Array.from({ length: 6_000 }, () => unique("wamid"));
  await admin.query("begin; lock table chat_inbox in access exclusive mode");
  const taken = hooks.map((id) =>
    api.app.webhookReceiver.take("whatsapp", statusHook(number, [{ id, status: "sent" }])).then(
      () => id,
      (error: unknown) => {
        assert.ok(error instanceof Refusal && error.type === "unavailable", String(error));
        return null;
      },
    ),
  );
  // The last is refused at once, while nothing can be stored.
  assert.equal(await taken.at(-1), null);
  await admin.query("commit");
  const ids = (await Promise.all(taken)).filter((id) => id !== null);
  assert.ok(ids.length >= 5_000, `${ids.length} waited`);
  const stored = (await storedIds(account)).filter((id) => !before_ids.has(id));
  assert.deepEqual(stored.toSorted(), ids.toSorted());
});

/** Two accounts whose numbers the receiver knows, and which have one stored webhook each. */
async function makeNeighbors() {
  const [busy, other] = [await makeAccount(api.app), await makeAccount(api.app)];
  const numbers = [
    await makeChatNumber(api.app, busy, { driver: "whatsapp" }),
    await makeChatNumber(api.app, other, { driver: "whatsapp" }),
  ] as const;
  await Promise.all(numbers.map((of) => take(sentHook(of))));
  return { busy, other, numbers };
}

/** A body with a change for each number. */
const hookOf = (numbers: readonly TestChatNumber[]) =>
  JSON.stringify({
    entry: numbers.flatMap((of) => (JSON.parse(sentHook(of)) as { entry: unknown[] }).entry),
  });

const unknownNumbers = (count: number): TestChatNumber[] =>
  Array.from({ length: count }, () => ({
    id: 0,
    provider_phone_number_id: unique("unknown"),
    business_account_id: unique("unknown"),
  }));

test("a webhook with thousands of unknown numbers uses one connection, and its known numbers receive", async () => {
  const { busy, other, numbers } = await makeNeighbors();
  const receiver = openWebhookReceiver(api.app);
  const { pool } = api.app.db;
  await admin.query("begin; lock table chat_routes in access exclusive mode");
  const body = hookOf([numbers[1], ...unknownNumbers(5_000), numbers[0], numbers[1]]);
  const taken = receiver.take("whatsapp", body);
  await eventually(async () => {
    const { rows } = await admin.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_locks
       where not granted and relation = 'chat_routes'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows[0]!.waiting > 0;
  });
  const in_use = pool.totalCount - pool.idleCount + pool.waitingCount;
  await admin.query("commit");
  await taken;
  assert.equal(in_use, 1);
  assert.equal((await storedIds(busy)).length, 2);
  assert.equal((await storedIds(other)).length, 3);
});

test("a webhook that may concern one account only stores nothing for another, whose number is still found", async () => {
  const { busy, other, numbers } = await makeNeighbors();
  const receiver = openWebhookReceiver(api.app);
  await receiver.take("whatsapp", hookOf(numbers), busy.account_id);
  assert.deepEqual([(await storedIds(busy)).length, (await storedIds(other)).length], [2, 1]);
  await receiver.take("whatsapp", hookOf(numbers));
  assert.deepEqual([(await storedIds(busy)).length, (await storedIds(other)).length], [3, 2]);
});

test("the unknown numbers of a webhook are logged in one line, and not again a moment later", async (t) => {
  const now_ms = performance.now();
  t.mock.method(performance, "now", () => now_ms);
  const lines: unknown[] = [];
  const log = Object.assign(Object.create(api.app.log) as typeof api.app.log, {
    warn: ({ count }: { count: number }) => void lines.push(count),
  });
  const receiver = openWebhookReceiver({ ...api.app, log });
  const unknown = unknownNumbers(3);
  await receiver.take("whatsapp", hookOf(unknown));
  await receiver.take("whatsapp", hookOf([...unknown, ...unknownNumbers(2)]));
  await receiver.take("whatsapp", hookOf(unknown));
  assert.deepEqual(lines, [3, 2]);
});

/** A body with as many changes. */
function sentHooks(of: TestChatNumber, count: number): string {
  const { entry } = JSON.parse(sentHook(of)) as { entry: { id: string; changes: unknown[] }[] };
  const { id, changes } = entry[0]!;
  return JSON.stringify({ entry: [{ id, changes: Array(count).fill(changes[0]) }] });
}

const stopHook = (of: TestChatNumber) =>
  messageHook(of, [{ id: unique("in"), from: "919812345678", text: "STOP" }]);

/** Takes as many bodies of one account while nothing can be stored, the last of which is refused, and an opt-out of another. */
async function flood(bodies: number, changes: number, stored: number): Promise<void> {
  const { busy, other, numbers } = await makeNeighbors();
  await admin.query("begin; lock table chat_inbox in access exclusive mode");
  const taken = Array.from({ length: bodies }, () => take(sentHooks(numbers[0], changes)));
  const outcomes = Promise.allSettled(taken);
  // Nothing can be stored yet, so that the first to settle is the one that is refused.
  const first = await Promise.race(taken).catch((error: unknown) => error);
  const stop = take(stopHook(numbers[1]));
  await Promise.all([stop, admin.query("commit")]);
  assert.ok(first instanceof Refusal && first.type === "unavailable", String(first));
  const refused = (await outcomes).filter(({ status }) => status === "rejected");
  assert.equal(refused.length, 1);
  assert.equal((await storedIds(busy)).length, 1 + stored);
  assert.equal((await storedIds(other)).length, 2);
}

test("while an account's queue is full, an opt-out of another is taken", () =>
  flood(6, 1_000, 5_000));

test("a body beyond the limit of its account is stored whole, and an opt-out of another with it", () =>
  flood(2, 6_000, 6_000));

test("webhooks that arrive together share a row, replies have one of their own, and the number is notified", async () => {
  const notified: string[] = [];
  api.app.notifications.on("chat_inbound", (subject) => void notified.push(subject));
  const fresh = await makeAccount(api.app);
  const theirs = await makeChatNumber(api.app, fresh, { driver: "whatsapp" });
  // So that the number is known, and all wait for the same statement.
  await api.app.webhookReceiver.take("whatsapp", sentHook(theirs));
  await admin.query("delete from chat_inbox where account_id = $1", [fresh.account_id]);
  notified.length = 0;
  const reply = messageHook(theirs, [{ id: unique("in"), from: "919812345678", text: "hi" }]);
  const hooks = [sentHook(theirs), reply, sentHook(theirs), reply, sentHook(theirs)];
  await Promise.all(hooks.map((hook) => api.app.webhookReceiver.take("whatsapp", hook)));
  // Once here, and once more from the database.
  assert.deepEqual([...new Set(notified)], [`${fresh.account_id}:${theirs.id}`]);
  const { rows } = await admin.query<{ length: number; urgent: boolean }>(
    `select json_array_length(body) as length, due_at = '-infinity' as urgent
     from chat_inbox where account_id = $1 order by due_at, length`,
    [fresh.account_id],
  );
  assert.deepEqual(rows, [
    { length: 1, urgent: true },
    { length: 1, urgent: true },
    { length: 3, urgent: false },
  ]);
});

test("a database that is away fails the webhook, and is asked again for the next one", async () => {
  const db = openDatabase("postgres://127.0.0.1:9/nothing", api.app.log);
  let up = false;
  const app = {
    ...api.app,
    db: {
      ...api.app.db,
      get pool() {
        return up ? api.app.db.pool : db.pool;
      },
    },
  };
  const receiver = openWebhookReceiver(app);
  await assert.rejects(receiver.take("whatsapp", sentHook()), isDatabaseUnavailable);
  up = true;
  await receiver.take("whatsapp", sentHook());
  up = false;
  // The number is known by now; the row has nowhere to go.
  await assert.rejects(
    receiver.take("whatsapp", sentHook()),
    (error: unknown) => error instanceof Refusal && error.type === "unavailable",
  );
  await db.close();
});

test("stores the first webhook of a number after its registration, also where earlier ones came in vain", async () => {
  const fresh = await makeAccount(api.app);
  const provider_phone_number_id = unique("later");
  const theirs = { id: 0, provider_phone_number_id, business_account_id: unique("later") };
  await api.app.webhookReceiver.take("whatsapp", sentHook(theirs));
  await api.app.db.query
    .insertInto("chat_routes")
    .values({
      driver: "whatsapp",
      kind: "phone_number",
      provider_id: provider_phone_number_id,
      account_id: fresh.account_id,
      chat_number_id: 1,
    })
    .execute();
  await api.app.webhookReceiver.take("whatsapp", sentHook(theirs));
  assert.equal((await storedIds(fresh)).length, 1);
});

test("a number that moves to another account receives there at once, in a process that has cached its route", async () => {
  const [from, to] = [await makeAccount(api.app), await makeAccount(api.app)];
  const receiver = openWebhookReceiver(api.app);
  const ids = {
    provider_phone_number_id: unique("moved"),
    business_account_id: unique("moved"),
  };
  const bind = async (by: TestAccount) => {
    const json = { ...ids, name: "Moved", phone_number: "+919812345679", driver: "whatsapp" };
    const { status, text, body } = await api.send("POST", "/api/v1/chat/numbers", {
      token: by.token,
      json,
    });
    assert.equal(status, 201, text);
    return { id: body.id as number, ...ids };
  };
  const first = await bind(from);
  const standing = () =>
    changeHook(first, "account_update", { event: "ACCOUNT_REINSTATED", id: unique("event") });
  await receiver.take("whatsapp", sentHook(first));
  await receiver.take("whatsapp", standing());
  assert.equal((await storedIds(from)).length, 2);
  const path = `/api/v1/chat/numbers/${first.id}`;
  assert.equal((await api.send("DELETE", path, { token: from.token })).status, 204);
  // While no account has it, its events are dropped.
  await receiver.take("whatsapp", sentHook(first));
  const second = await bind(to);
  await receiver.take("whatsapp", stopHook(second));
  await receiver.take("whatsapp", standing());
  assert.equal((await storedIds(from)).length, 2);
  const { rows } = await admin.query<{ chat_number_id: number }>(
    "select chat_number_id::int from chat_inbox where account_id = $1 order by id",
    [to.account_id],
  );
  assert.deepEqual(rows, [{ chat_number_id: second.id }, { chat_number_id: 0 }]);
});

test("a number that moves while the receiver knows its old route sends no event to the old account", async () => {
  const [from, to] = [await makeAccount(api.app), await makeAccount(api.app)];
  const theirs = await makeChatNumber(api.app, from, { driver: "whatsapp" });
  const receiver = openWebhookReceiver(api.app);
  await receiver.take("whatsapp", sentHook(theirs));
  await admin.query(
    "update chat_routes set account_id = $1, chat_number_id = 7 where provider_id = $2",
    [to.account_id, theirs.provider_phone_number_id],
  );
  // A body with other numbers is stored whole, each number for its account.
  await receiver.take("whatsapp", hookOf([theirs, number, theirs]));
  assert.deepEqual([(await storedIds(from)).length, (await storedIds(to)).length], [1, 2]);
  // Of an account whose credentials sign its webhooks, only the events of its own numbers are stored.
  await admin.query("update chat_routes set account_id = $1 where provider_id = $2", [
    from.account_id,
    theirs.provider_phone_number_id,
  ]);
  await receiver.take("whatsapp", sentHook(theirs), to.account_id);
  assert.deepEqual([(await storedIds(from)).length, (await storedIds(to)).length], [1, 2]);
});
