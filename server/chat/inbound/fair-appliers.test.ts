// Appliers are shared by accounts: a lock stands for batches that take long, because it ends only when the test says so.
import assert from "node:assert/strict";
import { after, before, beforeEach, test, type TestContext } from "node:test";
import pg from "pg";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeChatNumber, type TestChatNumber } from "../../../test/support/chat-factory.ts";
import { messageHook, openTestWhatsapp } from "../../../test/support/chat-webhooks.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { runLoop } from "../../engine/run-loop.ts";
import { applyWebhooks } from "./apply-webhooks.ts";

/** The rows of a full batch, and one more. */
const batch_rows = 200;
const two_batches = batch_rows + 1;

let api: TestApi;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
});
after(() => api.close());
beforeEach(() => api.app.db.pool.query("truncate chat_inbox"));

async function makeNumbers(count: number): Promise<[TestAccount, TestChatNumber[]]> {
  const account = await makeAccount(api.app);
  const numbers: TestChatNumber[] = [];
  for (let i = 0; i < count; i++)
    numbers.push(await makeChatNumber(api.app, account, { driver: "whatsapp" }));
  return [account, numbers];
}

/** Stores rows without events: what takes long is the lock. The first is due `age_ms` ago, and the last last. */
async function storeRows(
  { account_id }: TestAccount,
  number: TestChatNumber,
  { count, age_ms = 60_000 }: { count: number; age_ms?: number },
): Promise<void> {
  await api.app.db.pool.query(
    `insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
     select $1, $2, 'whatsapp', '[{}]', $3, $3::timestamptz - $4 * interval '1 ms' + i * interval '1 ms'
     from generate_series(1, $5::int) i`,
    [account_id, number.id, api.clock.now(), age_ms, count],
  );
}

const storeStop = (number: TestChatNumber) =>
  api.app.webhookReceiver.take(
    "whatsapp",
    messageHook(number, [{ id: unique("in"), from: "919812345678", text: "STOP" }]),
  );

/** Locks each number's row at this position, so that its batch waits; returns what releases them. */
async function lockRows(
  t: TestContext,
  accounts: readonly TestAccount[],
  position: number,
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: api.database_url });
  await client.connect();
  await client.query("begin");
  for (const { account_id } of accounts)
    await client.query(
      `select from chat_inbox where account_id = $1 and id in (
         select id from (
           select id, row_number() over (partition by chat_number_id order by due_at, id) as position
           from chat_inbox where account_id = $1
         ) numbered where position = $2)
       for update`,
      [account_id, position],
    );
  let open = true;
  const release = async () => {
    if (open) await client.end();
    open = false;
  };
  t.after(release);
  return release;
}

/** Applies webhooks as the worker does, until the test ends and has released its locks. */
function startApplying(t: TestContext): void {
  const loop = runLoop(api.app, {
    name: "inbound-webhooks",
    poll_ms: 10,
    iterate: (stopping) => applyWebhooks(api.app, stopping),
  });
  t.after(() => loop.stop());
}

async function rowsOf({ account_id }: TestAccount): Promise<number> {
  const { rows } = await api.app.db.pool.query("select from chat_inbox where account_id = $1", [
    account_id,
  ]);
  return rows.length;
}

async function hasSuppression({ account_id }: TestAccount): Promise<boolean> {
  const { rows } = await api.app.db.pool.query("select from suppressions where account_id = $1", [
    account_id,
  ]);
  return rows.length === 1;
}

test("applies an opt-out before the backlogs of accounts with lower IDs", async (t) => {
  const busy: TestAccount[] = [];
  for (let i = 0; i < 2; i++) {
    const [account, numbers] = await makeNumbers(2);
    for (const number of numbers) await storeRows(account, number, { count: 1 });
    busy.push(account);
  }
  const [stopping, [number]] = await makeNumbers(1);
  await storeStop(number!);
  await lockRows(t, busy, 1);
  startApplying(t);
  await eventually(() => hasSuppression(stopping));
});

test("applies all webhooks of an account while the batches of another's numbers wait", async (t) => {
  const [busy, numbers] = await makeNumbers(4);
  for (const number of numbers) await storeRows(busy, number, { count: 1 });
  const [other, [number]] = await makeNumbers(1);
  await storeRows(other, number!, { count: two_batches, age_ms: 30_000 });
  await lockRows(t, [busy], 1);
  startApplying(t);
  await eventually(async () => (await rowsOf(other)) === 0);
});

/** Fails when the iteration ends before the condition holds, because its batches do not wait for ever. */
const during = (iteration: Promise<unknown>, holds: () => Promise<boolean>) =>
  Promise.race([
    iteration.then(() => assert.fail("the iteration ended too early")),
    eventually(holds),
  ]);

test("applies a batch of each number before the second of any", async (t) => {
  const busy: TestAccount[] = [];
  for (let i = 0; i < 4; i++) {
    const [account, [number]] = await makeNumbers(1);
    await storeRows(account, number!, { count: two_batches });
    busy.push(account);
  }
  const [other, [number]] = await makeNumbers(1);
  await storeRows(other, number!, { count: 1 });
  const release = await lockRows(t, busy, two_batches);
  const iteration = applyWebhooks(api.app, new AbortController().signal);
  await during(iteration, async () => (await rowsOf(other)) === 0);
  await release();
  await iteration;
});

test("applies an opt-out that arrives during a backlog before the next batch", async (t) => {
  const [busy, numbers] = await makeNumbers(2);
  for (const number of numbers) await storeRows(busy, number, { count: two_batches });
  const [stopping, [number]] = await makeNumbers(1);
  const releaseFirst = await lockRows(t, [busy], 1);
  const releaseSecond = await lockRows(t, [busy], two_batches);
  const iteration = applyWebhooks(api.app, new AbortController().signal);
  await awaitsLock(api.app.db.query);
  await storeStop(number!);
  api.clock.advance(1_000);
  await releaseFirst();
  await during(iteration, () => hasSuppression(stopping));
  assert.equal(await rowsOf(busy), 2);
  await releaseSecond();
  await iteration;
  assert.equal(await rowsOf(busy), 0);
});
