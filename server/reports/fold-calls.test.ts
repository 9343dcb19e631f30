import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import { awaitsLock } from "../../test/support/awaits-lock.ts";
import { makeCall } from "../../test/support/call-factory.ts";
import { checkCallReports } from "../../test/support/check-invariants.ts";
import { makeNode, makeTrunk } from "../../test/support/telephony-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { workJobs } from "../engine/work-jobs.ts";
import { applyRetention } from "../retention/apply-retention.ts";
import { erasePerson } from "../retention/erase-person.ts";
import { foldCalls, foldDueCalls, rebuildCallCounts } from "./fold-calls.ts";
import { readCallReport } from "./call-report.ts";
import { call_groups } from "./report-schema.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const going = new AbortController().signal;
/** In the week in which New York begins daylight saving time, on 2026-03-08. */
const now = new Date("2026-03-14T10:00:00Z");
const seed = Math.floor(Math.random() * 2 ** 31);

/** A linear congruential generator: the next number below `below`. */
function random(of: number): (below: number) => number {
  let state = of;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

async function newAccount(time_zone: string): Promise<TestAccount> {
  api.clock.set(now);
  const account = await makeAccount(api.app);
  const { account_id } = account;
  await makeCredits(api.app, account, { call: 100 });
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone })
    .where("account_id", "=", account_id)
    .execute();
  return account;
}

const agents = ["101", "102", "919811111111"];
const statuses = ["completed", "busy", "no-answer", "failed", "canceled"];

/** Makes click-to-calls, campaigns' calls and incoming calls of the last ten days, with transfers and retries. */
async function makeCalls(account: TestAccount, next: (below: number) => number): Promise<number> {
  const node_id = await makeNode(api.app);
  const trunk_id = await makeTrunk(api.app, [node_id], { only_account_id: account.account_id });
  const place = { node_id, trunk_id };
  const one = <Value>(values: readonly Value[]) => values[next(values.length)]!;
  const anyCall = () => {
    const answered = next(2) === 0;
    return {
      stage: "ended",
      status: answered ? "completed" : one(statuses),
      disposition: one(["answered", "failed", null]),
      ended_reason: one(["hung_up", "playback_failed"]),
      answered_by: one(["human", "machine"]),
      queued_at: new Date(now.getTime() - next(10 * 86_400) * 1_000),
      answered_at: answered ? now : null,
      talk_seconds: answered ? next(100) : null,
      ring_seconds: one([null, 3, 5]),
      billed_seconds: next(200),
      cost: next(4),
    };
  };
  const leg = (role: string) => ({
    role,
    number: one(agents),
    answered_at: one([null, now]),
    initiated_at: now,
  });
  for (let i = 0; i < 60; i++) {
    const call = {
      ...anyCall(),
      from_number: one(agents),
      direction: one(["outbound", "inbound"]),
    };
    const cli_number = one([null, "2240000000", "2240000001"]);
    // An incoming call's agents are transfer legs.
    const first = call.direction === "inbound" ? [] : [{ ...leg("agent"), answered_at: now }];
    const legs = [...first, ...(next(2) === 0 ? [leg("transfer")] : [])];
    await makeCall(api.app, account, { call: { ...call, cli_number }, legs, place });
  }
  const campaign = await makeVoiceCampaign(api.app, account, { campaign: { trunk_id } });
  for (let i = 0; i < 20; i++) await makeVoiceCall(api.app, account, campaign, { call: anyCall() });
  return campaign.id;
}

type Filter = Partial<Parameters<typeof readCallReport>[1]>;

/** Returns the report of every grouping over the time ranges, with the filters. */
async function reports(
  { account_id }: TestAccount,
  time_zone: string,
  filters: readonly Filter[],
): Promise<unknown> {
  const days = (count: number) => new Date(now.getTime() - count * 86_400_000);
  const ranges = [
    { from: days(366), to: now },
    { from: days(7.3), to: days(1.1) },
    { from: days(0.4), to: now },
  ];
  const found: unknown[] = [];
  for (const group_by of call_groups)
    for (const range of ranges)
      for (const filter of filters) {
        const query = { account_id, time_zone, country_code: "91", group_by, ...range, ...filter };
        const { data, totals } = await readCallReport(api.app.db, query, { limit: 1_000 });
        found.push({ group_by, range, filter, data, totals });
      }
  return found;
}

const unfoldAll = ({ account_id }: TestAccount) =>
  api.app.db.pool.query("delete from call_report_days where account_id = $1", [account_id]);

async function foldedDays({ account_id }: TestAccount): Promise<number> {
  const { rows } = await api.app.db.pool.query<{ n: number }>(
    "select count(*)::int as n from call_report_days where account_id = $1",
    [account_id],
  );
  return rows[0]!.n;
}

async function comparesReports(time_zone: string): Promise<void> {
  const account = await newAccount(time_zone);
  const campaign_id = await makeCalls(account, random(seed));
  const filters: Filter[] = [
    {},
    { type: "click_to_call" },
    { type: "incoming" },
    { campaign_id },
    { campaign_id: campaign_id - 1 },
    { number: { agent: ["101"], customer: [] } },
  ];
  const fromCalls = await reports(account, time_zone, filters);
  const folded = await foldCalls(api.app, account.account_id, going);
  assert.ok(folded >= 9, `folded ${folded} days`);
  await checkCallReports(api.app.db.pool);
  assert.deepEqual(await reports(account, time_zone, filters), fromCalls);
  // In another time zone, days by the former one are only used where they fit.
  const other = time_zone === "UTC" ? "Asia/Kathmandu" : "UTC";
  const inOther = await reports(account, other, [{}]);
  await unfoldAll(account);
  assert.deepEqual(await reports(account, other, [{}]), inOther);
}

for (const time_zone of ["Asia/Kolkata", "America/New_York", "UTC"])
  test(`reports from folded days equal reports from the calls, in ${time_zone}`, (t) => {
    t.diagnostic(`seed ${seed}`);
    return comparesReports(time_zone);
  });

test("a day is folded once all its calls have ended, and read from its calls until then", async () => {
  const account = await newAccount("UTC");
  const queued_at = new Date("2026-03-10T12:00:00Z");
  const { id } = await makeCall(api.app, account, { call: { queued_at } });
  await makeCall(api.app, account, {
    call: { stage: "ended", status: "busy", queued_at: new Date("2026-03-12T12:00:00Z") },
  });
  assert.equal(await foldCalls(api.app, account.account_id, going), 3);
  const unended = await reports(account, "UTC", [{}]);
  const values = [account.account_id, id];
  await api.app.db.pool.query(
    "update calls set stage = 'ended', status = 'busy' where account_id = $1 and id = $2",
    values,
  );
  assert.notDeepEqual(await reports(account, "UTC", [{}]), unended);
  api.clock.advance(3_600_000);
  await foldDueCalls(api.app, going);
  assert.equal(await foldedDays(account), 4);
  await checkCallReports(api.app.db.pool);
});

test("a process that stops folds no further account, and those left are due at once", async () => {
  const owners = [await newAccount("UTC"), await newAccount("UTC")];
  const call = { stage: "ended", status: "busy", queued_at: new Date("2026-03-12T12:00:00Z") };
  for (const owner of owners) await makeCall(api.app, owner, { call });
  const dueAt = async () => {
    const { rows } = await api.app.db.pool.query(
      "select account_id, report_due_at from accounts order by account_id",
    );
    return rows;
  };
  const before_stop = await dueAt();
  assert.equal(await foldDueCalls(api.app, AbortSignal.abort()), 0);
  assert.deepEqual(await dueAt(), before_stop);
  await foldDueCalls(api.app, going);
  for (const owner of owners) assert.equal(await foldedDays(owner), 2);
});

test("a day with a call that has not ended is passed over without counting the others again", async () => {
  const account = await newAccount("UTC");
  const queued_at = new Date("2026-03-10T12:00:00Z");
  await makeCall(api.app, account, { call: { queued_at } });
  await makeCall(api.app, account, { call: { stage: "ended", status: "busy", queued_at } });
  await foldCalls(api.app, account.account_id, going);
  const writer = await api.app.db.pool.connect();
  try {
    await writer.query("begin");
    // Whoever writes counts waits for it.
    await writer.query("lock table call_report_days, call_report_counts in share mode");
    assert.equal(await foldCalls(api.app, account.account_id, going), 0);
  } finally {
    await writer.query("rollback");
    writer.release();
  }
});

test("an erasure and retention unfold the days of the calls that they change", async () => {
  const account = await newAccount("UTC");
  const { account_id, token } = account;
  const { db } = api.app;
  await makeCalls(account, random(seed));
  const folded = await foldCalls(api.app, account_id, going);
  const json = { phone_number: "+919811111111" };
  const created = await api.send("POST", "/api/v1/erasures", { token, json });
  assert.equal(created.status, 202, created.text);
  while ((await workJobs(api.app, { "retention.erase_person": erasePerson }, going)) > 0);
  assert.ok((await foldedDays(account)) < folded);
  await checkCallReports(db.pool);
  await foldDueCalls(api.app, going);
  assert.equal(await foldedDays(account), folded);
  await checkCallReports(db.pool);
  const { rows } = await db.pool.query(
    "select from call_report_counts where account_id = $1 and agent = '919811111111'",
    [account_id],
  );
  assert.equal(rows.length, 0);

  await db.pool.query(
    `update accounts set retention_calls_days = 5, retention_due_at = 'epoch' where account_id = $1`,
    [account_id],
  );
  await db.pool.query("update calls set ended_at = queued_at where account_id = $1", [account_id]);
  while ((await applyRetention(api.app, going)) > 0);
  await checkCallReports(db.pool);
  await foldDueCalls(api.app, going);
  await checkCallReports(db.pool);
  assert.ok((await foldedDays(account)) <= 5);
});

test("a day is not folded while its calls are changed", async () => {
  const account = await newAccount("UTC");
  const { account_id } = account;
  const { id } = await makeCall(api.app, account, {
    call: { stage: "ended", status: "busy", queued_at: new Date("2026-03-10T12:00:00Z") },
  });
  let folding = Promise.resolve(0);
  await api.app.db.query.transaction().execute(async (tx) => {
    await sql`select unfold_calls(${account_id}, ${[id]})`.execute(tx);
    folding = foldCalls(api.app, account_id, going);
    await awaitsLock(api.app.db.query);
    await sql`update calls set cost = 7 where account_id = ${account_id} and id = ${id}`.execute(
      tx,
    );
  });
  assert.equal(await folding, 4);
  await checkCallReports(api.app.db.pool);
});

test("a rebuild replaces the counts of every day", async () => {
  const account = await newAccount("UTC");
  const { account_id } = account;
  await makeCalls(account, random(seed));
  const folded = await foldCalls(api.app, account_id, going);
  const right = await reports(account, "UTC", [{}]);
  await api.app.db.pool.query(
    "update call_report_counts set calls = calls + 1 where account_id = $1",
    [account_id],
  );
  await assert.rejects(checkCallReports(api.app.db.pool), /differ from their calls/);
  assert.equal(await rebuildCallCounts(api.app, account_id), folded);
  assert.deepEqual(await reports(account, "UTC", [{}]), right);
});
