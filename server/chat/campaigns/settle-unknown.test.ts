import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { openStatementsRead } from "../../../test/support/statements-read.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";
import { settleUnknown } from "./settle-unknown.ts";

const deferred = 5_000;
const signal = new AbortController().signal;

let api: TestApi;
let watch: ReturnType<typeof openStatementsRead>;
before(async () => {
  api = await startApi();
  api.clock.set(new Date());
  watch = openStatementsRead(api.app.db.pool);
});
after(() => api.close());

const inMs = (ms: number) => new Date(api.clock.now().getTime() + ms);

/** Creates a campaign with recipients that are deferred until within half an hour, and some of unknown outcome until in an hour. */
async function makePending(unknown: number) {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: deferred + unknown });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const recipients = Array.from({ length: deferred + unknown }, (_, n) => ({
    phone: String(919_700_000_000 + n),
  }));
  const campaign_id = await makeChatCampaign(app, account, number, template, recipients);
  const { account_id } = account;
  const rows = await app.db.query
    .selectFrom("chat_recipients")
    .select(["campaign_id", "id"])
    .where("account_id", "=", account_id)
    .orderBy("id")
    .execute();
  const now = app.clock.now();
  const move = (moves: Parameters<typeof moveRecipients>[2]) =>
    moveRecipients(app.db.pool, account_id, moves, now);
  await move(rows.map((row) => ({ ...row, dispatches: 0, state: "dispatching" })));
  await move(
    rows.map((row, i) =>
      i < unknown
        ? { ...row, dispatches: 1, state: "unknown", due_at: inMs(3_600_000) }
        : { ...row, dispatches: 1, state: "deferred", due_at: inMs(60_000 + i * 300) },
    ),
  );
  await app.db.pool.query("analyze chat_recipients");
  return { account_id, subject: String(campaign_id) };
}

/** Runs the job; returns when it runs again, and how many rows its statements read. */
async function settle(job: Parameters<typeof settleUnknown>[1]) {
  const { answer, statements } = await watch(() => settleUnknown(api.app, job, signal));
  const read = statements.reduce((sum, statement) => sum + statement.read, 0);
  return { again_at: answer?.again_at, read };
}

test("outcomes are settled when they are due, without reading all recipients that are deferred", async () => {
  const job = await makePending(3);
  const first = await settle(job);
  const { read } = first;
  let { again_at } = first;
  assert.ok(read > 0 && read < deferred / 2, `read ${read} rows`);
  // Each run names the time of the next one, until the outcomes are due.
  const due_at = inMs(3_600_000);
  let runs = 0;
  for (; again_at; runs += 1) {
    assert.ok(again_at > api.clock.now() && again_at <= due_at);
    api.clock.set(again_at);
    ({ again_at } = await settle(job));
  }
  assert.deepEqual([runs, api.clock.now()], [6, due_at]);
  const { rows } = await api.app.db.pool.query(
    "select state, count(*)::int from chat_recipients where account_id = $1 group by 1 order by 1",
    [job.account_id],
  );
  assert.deepEqual(rows, [
    { state: "deferred", count: deferred },
    { state: "unresolved", count: 3 },
  ]);
});

test("without an unknown outcome, no deferred recipient is read, and no further run follows", async () => {
  const job = await makePending(0);
  const { again_at, read } = await settle(job);
  assert.equal(again_at, undefined);
  assert.ok(read > 0 && read < 200, `read ${read} rows`);
});
