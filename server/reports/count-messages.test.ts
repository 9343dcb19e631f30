import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../test/support/chat-factory.ts";
import { checkMessageReports } from "../../test/support/check-invariants.ts";
import { openStatementsRead } from "../../test/support/statements-read.ts";
import { completeChatCampaigns } from "../chat/campaigns/complete-chat-campaigns.ts";
import { moveRecipients } from "../chat/recipients/move-recipients.ts";
import { countOfState, recipientStates, transition } from "../chat/recipients/recipient-states.ts";
import { workJobs } from "../engine/work-jobs.ts";
import { applyRetention } from "../retention/apply-retention.ts";
import { erasePerson } from "../retention/erase-person.ts";
import { readChatReport } from "./chat-report.ts";
import { countDueCampaigns, rebuildMessageCounts } from "./count-campaigns.ts";
import { chat_groups, type ChatGroup } from "./report-schema.ts";

let api: TestApi;
let watch: ReturnType<typeof openStatementsRead>;
before(async () => {
  api = await startApi();
  watch = openStatementsRead(api.app.db.pool);
});
after(() => api.close());

const going = new AbortController().signal;
const hour_ms = 3_600_000;
/** In the week in which New York begins daylight saving time, on 2026-03-08. */
const start = new Date("2026-03-04T10:00:00Z");
const seed = Math.floor(Math.random() * 2 ** 31);

/** A linear congruential generator: the next number below `below`. */
function random(of: number): (below: number) => number {
  let state = of;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

type Place = { readonly account: TestAccount; readonly numbers: readonly TestChatNumber[] };

async function makePlace(time_zone: string): Promise<Place> {
  api.clock.set(start);
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10_000 });
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone })
    .where("account_id", "=", account.account_id)
    .execute();
  const numbers = [await makeChatNumber(api.app, account), await makeChatNumber(api.app, account)];
  return { account, numbers };
}

async function makeCampaign({ account, numbers }: Place, at: number, recipients: number) {
  const number = numbers[at % 2]!;
  const template = await makeChatTemplate(api.app, account, number);
  const people = Array.from({ length: recipients }, (_, n) => ({
    phone: `9198${String(at).padStart(3, "0")}${String(n).padStart(5, "0")}`,
  }));
  return makeChatCampaign(api.app, account, number, template, people);
}

type Recipient = {
  readonly campaign_id: number;
  readonly id: number;
  readonly state: (typeof recipientStates)[number];
  readonly dispatches: number;
  readonly provider_message_id: string | null;
};

const recipientsOf = async ({ account }: Place, below: number, of: number) =>
  (
    await api.app.db.pool.query<Recipient>(
      `select campaign_id, id, state, dispatches, provider_message_id from chat_recipients
       where account_id = $1 and id % $2 = $3 order by campaign_id, id`,
      [account.account_id, below, of],
    )
  ).rows;

/** Any batch that a sender, an applier of statuses or a control may write. */
async function moveSome(place: Place, next: (below: number) => number): Promise<void> {
  const now = api.clock.now();
  const moves = (await recipientsOf(place, 4, next(4))).flatMap((row) => {
    const { campaign_id, id, state, dispatches } = row;
    const reachable = recipientStates.filter((to) => transition(state, to));
    const to = reachable[next(reachable.length)];
    // Only what was dispatched has a provider's message and statuses.
    const is_status = to && ["sent", "delivered", "read"].includes(to);
    if (!to || (dispatches === 0 && is_status)) return [];
    // A provider's time is not that of the batch.
    const at = new Date(now.getTime() - next(1_200) * 1_000);
    const provider_message_id = `wamid.${id}.${dispatches}`;
    return [{ campaign_id, id, dispatches, state: to, provider_message_id, due_at: now, at }];
  });
  const slot = ["sender", "inbound", "controls"][next(3)];
  const values = [place.account.account_id, slot, JSON.stringify(moves), now];
  await api.app.db.pool.query("select from chat_move_recipients_json($1, $2, $3, $4)", values);
}

async function replySome(place: Place, next: (below: number) => number): Promise<void> {
  const sent = (await recipientsOf(place, 5, next(5))).filter((row) => row.provider_message_id);
  const replies = sent.map((row) => ({
    provider_message_id: `reply.${row.id}.${next(1_000_000)}`,
    phone: "919811111111",
    type: "text",
    answers: row.provider_message_id,
    opted_out: next(3) === 0,
    at: new Date(api.clock.now().getTime() - next(1_200) * 1_000),
  }));
  const number = place.numbers[next(2)]!;
  await api.app.db.pool.query("select from record_chat_replies($1, $2, $3)", [
    place.account.account_id,
    number.id,
    JSON.stringify(replies),
  ]);
}

/** Sends five campaigns for a week, in random steps with failures, statuses, replies, retries and cancellations. */
async function sendAtRandom(place: Place, next: (below: number) => number): Promise<number[]> {
  const { account_id } = place.account;
  const campaigns: number[] = [];
  for (let step = 0; step < 60; step++) {
    if (step % 10 === 0 && campaigns.length < 5)
      campaigns.push(await makeCampaign(place, campaigns.length, 12));
    await moveSome(place, next);
    if (next(4) === 0) await replySome(place, next);
    if (next(8) === 0) {
      const values = [
        account_id,
        campaigns[next(campaigns.length)],
        next(2) === 0,
        api.clock.now(),
      ];
      await api.app.db.pool.query(
        "select from retry_chat_recipients($1, $2, null, $3, $4)",
        values,
      );
    }
    api.clock.advance(next(6) === 0 ? 9 * hour_ms : next(3) * 600_000);
  }
  // A range does not include its end, so that a message of the same millisecond is not in a report until now.
  api.clock.advance(1);
  return campaigns;
}

type Filter = Partial<Parameters<typeof readChatReport>[1]>;

/** Returns the report of every grouping over the time ranges, with the filters. */
async function reports(
  { account: { account_id } }: Place,
  time_zone: string,
  filters: readonly Filter[],
  step_ms = 1,
): Promise<unknown> {
  const now = api.clock.now();
  const ago = (days: number) =>
    new Date(Math.floor((now.getTime() - days * 24 * hour_ms) / step_ms) * step_ms);
  const ranges = [
    { from: ago(366), to: now },
    { from: ago(5.3), to: ago(1.1) },
    { from: ago(3.01), to: ago(3) },
    { from: ago(2.001), to: ago(2) },
    { from: ago(0.4), to: now },
  ];
  const found: unknown[] = [];
  for (const group_by of chat_groups)
    for (const range of ranges)
      for (const filter of filters) {
        const query = { account_id, time_zone, now, group_by, ...range, ...filter };
        const { data, totals } = await readChatReport(api.app.db, query, { limit: 1_000 });
        found.push({ group_by, range, filter, data, totals });
      }
  return found;
}

const uncount = ({ account: { account_id } }: Place) =>
  api.app.db.pool.query("update chat_campaigns set report_counted = false where account_id = $1", [
    account_id,
  ]);

async function comparesReports(time_zone: string): Promise<void> {
  const place = await makePlace(time_zone);
  const { account_id } = place.account;
  const campaigns = await sendAtRandom(place, random(seed));
  await checkMessageReports(api.app.db.pool);
  const filters: Filter[] = [
    {},
    { campaign_id: campaigns[1] },
    { chat_number_id: place.numbers[0]!.id },
    { campaign_id: campaigns[2], chat_number_id: place.numbers[1]!.id },
  ];
  const counted = await reports(place, time_zone, filters);
  await uncount(place);
  assert.deepEqual(await reports(place, time_zone, filters), counted, "from the rows");
  // As an upgrade from a version without counts.
  await api.app.db.pool.query("delete from chat_report_counts where account_id = $1", [account_id]);
  assert.equal(await countDueCampaigns(api.app, going), campaigns.length);
  assert.deepEqual(await reports(place, time_zone, filters), counted, "counted from the rows");
  await api.app.db.pool.query(
    "update chat_report_counts set sent = sent + 1, replies = 0 where account_id = $1",
    [account_id],
  );
  await assert.rejects(checkMessageReports(api.app.db.pool), /differ from their recipients/);
  assert.equal(await rebuildMessageCounts(api.app, account_id), campaigns.length);
  assert.deepEqual(await reports(place, time_zone, filters), counted, "rebuilt");
}

for (const time_zone of ["Asia/Kolkata", "America/New_York", "Asia/Kathmandu"])
  test(`reports from counts equal reports from the rows, in ${time_zone}`, (t) => {
    t.diagnostic(`seed ${seed}`);
    return comparesReports(time_zone);
  });

/** Ends what is open, and the campaigns. */
async function finish(place: Place): Promise<void> {
  const { account_id } = place.account;
  const now = api.clock.now();
  for (const to of ["unresolved", "refused", "cancelled"] as const) {
    const moves = (await recipientsOf(place, 1, 0))
      .filter(({ state }) => countOfState[state] === "pending" && transition(state, to))
      .map(({ campaign_id, id, dispatches }) => ({ campaign_id, id, dispatches, state: to }));
    const values = [account_id, JSON.stringify(moves), now];
    await api.app.db.pool.query(
      "select from chat_move_recipients_json($1, 'controls', $2, $3)",
      values,
    );
  }
  await api.app.db.pool.query(
    "update chat_campaigns set state = 'completed', finished_at = $2 where account_id = $1",
    [account_id, now],
  );
}

test("an erasure and retention do not change reports, and neither does a rebuild after them", async (t) => {
  t.diagnostic(`seed ${seed}`);
  const place = await makePlace("Asia/Kolkata");
  const { account_id, token } = place.account;
  const { db } = api.app;
  await sendAtRandom(place, random(seed));
  await finish(place);
  api.clock.advance(10 * 24 * hour_ms);
  const read = () => reports(place, "Asia/Kolkata", [{}], 900_000);
  const before_erasure = await read();
  const json = { phone_number: "+919800000003" };
  const created = await api.send("POST", "/api/v1/erasures", { token, json });
  assert.equal(created.status, 202, created.text);
  while ((await workJobs(api.app, { "retention.erase_person": erasePerson }, going)) > 0);
  await checkMessageReports(db.pool);
  assert.deepEqual(await read(), before_erasure);
  await db.pool.query(
    `update accounts set retention_messages_days = 5, retention_due_at = 'epoch' where account_id = $1`,
    [account_id],
  );
  while ((await applyRetention(api.app, going)) > 0);
  assert.deepEqual(await recipientsOf(place, 1, 0), []);
  assert.deepEqual(await read(), before_erasure);
  assert.equal(await rebuildMessageCounts(api.app, account_id), 0);
  assert.deepEqual(await read(), before_erasure);
});

/** Dispatches all recipients now, and moves them on. */
async function sendAll(place: Place, to: string): Promise<void> {
  const steps = [
    [0, "dispatching"],
    [1, to],
  ] as const;
  for (const [dispatches, state] of steps) {
    const moves = (await recipientsOf(place, 1, 0)).map(({ campaign_id, id }) => ({
      campaign_id,
      id,
      dispatches,
      state,
    }));
    const values = [place.account.account_id, JSON.stringify(moves), api.clock.now()];
    await api.app.db.pool.query(
      "select from chat_move_recipients_json($1, 'sender', $2, $3)",
      values,
    );
  }
}

/** Purges the account's uncounted campaign, counts it, and returns its report by day. */
async function countPurged({ account: { account_id } }: Place): Promise<unknown[]> {
  const { pool } = api.app.db;
  for (const table of ["chat_recipients", "chat_report_counts"])
    await pool.query(`delete from ${table} where account_id = $1`, [account_id]);
  await pool.query(
    `update chat_campaigns set purged_at = now(), purged_replies = 2, report_counted = false where account_id = $1`,
    [account_id],
  );
  assert.equal(await countDueCampaigns(api.app, going), 1);
  const query = { account_id, time_zone: "UTC", now: api.clock.now(), group_by: "day" as const };
  const range = { from: new Date(start.getTime() - 24 * hour_ms), to: api.clock.now() };
  const { data } = await readChatReport(api.app.db, { ...query, ...range }, { limit: 10 });
  return data.map(({ date, total, read, replies, credits }) => [
    date,
    total,
    read,
    replies,
    credits,
  ]);
}

test("a campaign that was purged before it was counted counts as a whole on the day it was created", async () => {
  const place = await makePlace("UTC");
  const campaign_id = await makeCampaign(place, 0, 5);
  api.clock.advance(30 * hour_ms);
  await sendAll(place, "read");
  await completeChatCampaigns(api.app, place.account.account_id, [campaign_id]);
  assert.deepEqual(await countPurged(place), [["2026-03-04", 5, 5, 2, 5]]);
});

test("a rebuild is right while recipients are moved", async () => {
  const place = await makePlace("UTC");
  const { account_id } = place.account;
  const campaign_id = await makeCampaign(place, 0, 3);
  const [first] = await recipientsOf(place, 1, 0);
  const moves = [{ campaign_id, id: first!.id, dispatches: 0, state: "dispatching" }];
  await api.app.db.query.transaction().execute(async (tx) => {
    await moveRecipients(tx, account_id, moves as never, api.clock.now());
    await rebuildMessageCounts(api.app, account_id);
  });
  await checkMessageReports(api.app.db.pool);
});

test("a report of a year reads a few rows for thousands of messages, also of a campaign that is sending", async () => {
  const place = await makePlace("Asia/Kolkata");
  const { account_id } = place.account;
  await makeCampaign(place, 0, 3_000);
  await sendAll(place, "delivered");
  await makeCampaign(place, 1, 3_000);
  await api.app.db.pool.query("analyze");
  const now = new Date(start.getTime() + 24 * hour_ms);
  const from = new Date(now.getTime() - 366 * 24 * hour_ms);
  const query = { account_id, time_zone: "Asia/Kolkata", now, from, to: now };
  const read = (group_by: ChatGroup) =>
    watch(() => readChatReport(api.app.db, { ...query, group_by }, { limit: 10 }));
  for (const group_by of chat_groups) {
    const { answer, statements } = await read(group_by);
    const { delivered, pending } = answer.totals;
    assert.deepEqual([delivered, pending], [3_000, 3_000]);
    const rows = statements.reduce((sum, statement) => sum + statement.read, 0);
    assert.ok(rows < 100, `${rows} rows by ${group_by}`);
  }
});

test("a campaign that was purged before it was counted counts its credit also if its ledger was folded", async () => {
  const place = await makePlace("UTC");
  const { account_id } = place.account;
  const { pool } = api.app.db;
  const campaign_id = await makeCampaign(place, 0, 5);
  await sendAll(place, "accepted");
  const [first] = await recipientsOf(place, 1, 0);
  const refunded = [{ campaign_id, id: first!.id, dispatches: 1, state: "undelivered" }];
  await pool.query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
    account_id,
    JSON.stringify(refunded),
    api.clock.now(),
  ]);
  await completeChatCampaigns(api.app, account_id, [campaign_id]);
  api.clock.advance(30 * hour_ms);
  const fold = async (rows_max: number) =>
    pool.query("select from fold_ledger($1, $2, 'UTC', $3, $2)", [
      account_id,
      api.clock.now(),
      rows_max,
    ]);
  // Some of its transfers first, then all.
  await fold(1);
  assert.deepEqual(await countPurged(place), [["2026-03-04", 5, 0, 2, 4]]);
  await fold(1_000);
  assert.deepEqual(await countPurged(place), [["2026-03-04", 5, 0, 2, 4]]);
});
