import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { failingFields } from "../../test/support/assert-guarded.ts";
import {
  makeExtension,
  makeNode,
  makeSandboxTrunk,
  makeTrunk,
} from "../../test/support/telephony-factory.ts";
import { makeCall } from "../../test/support/call-factory.ts";
import {
  makeAccount,
  makeCredits,
  makeUser,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import {
  makeVoiceCall,
  makeVoiceCampaign,
  type TestVoiceCampaign,
} from "../../test/support/voice-factory.ts";

let api: TestApi;
let account: TestAccount;
let campaigns: readonly TestVoiceCampaign[];
let users: readonly number[];

const now = new Date("2026-03-20T06:00:00Z");
/** A time so many days before now, at noon in Kolkata. */
const ago = (days: number) => new Date(Date.parse("2026-03-20T06:30:00Z") - days * 86_400_000);
const talk = (seconds: number, cost: number) => ({
  stage: "ended",
  status: "completed",
  disposition: "answered",
  ended_reason: "hung_up",
  answered_by: "human",
  answered_at: now,
  ring_seconds: 5,
  talk_seconds: seconds,
  billed_seconds: cost * 60,
  cost,
});
const ended = (status: string, more: object = {}) => ({
  stage: "ended",
  status,
  disposition: status,
  ended_reason: "customer_busy",
  ring_seconds: 7,
  billed_seconds: 0,
  ...more,
});
const answered_at = now;

before(async () => {
  api = await startApi();
  api.clock.set(now);
  account = await makeAccount(api.app);
  const { account_id } = account;
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "Asia/Kolkata" })
    .where("account_id", "=", account_id)
    .execute();
  await makeCredits(api.app, account, { call: 100 });
  users = [await makeUser(api.app, account), await makeUser(api.app, account)];
  await makeExtension(api.app, account, "101", { user_id: users[0]! });
  await makeExtension(api.app, account, "102");
  await api.app.db.query
    .updateTable("users")
    .set({ phone: "9811111111" })
    .where("account_id", "=", account_id)
    .where("id", "=", users[1]!)
    .execute();
  await makeClickToCalls();
  campaigns = [await makeCampaign(), await makeCampaign()];
});
after(() => api.close());

async function makeClickToCalls(): Promise<void> {
  const node_id = await makeNode(api.app);
  const only_account_id = account.account_id;
  const trunk_id = await makeTrunk(api.app, [node_id], {
    only_account_id,
    caller_ids: ["2240000000", "2240000001"],
  });
  const place = { node_id, trunk_id };
  const make = (
    days: number,
    from_number: string,
    call: object,
    legs: readonly Record<string, unknown>[] = [{ number: from_number, answered_at }],
  ) =>
    makeCall(api.app, account, {
      call: { from_number, queued_at: ago(days), ...call },
      legs: legs.map((leg) => ({ initiated_at: ago(days), ...leg })),
      place,
    });
  await make(3, "101", talk(90, 4));
  await make(3, "102", { ...talk(30, 2), cli_number: "9000000001" });
  // Transferred, or answered by an agent other than the requested one.
  await make(2, "101", talk(60, 2), [
    { number: "101" },
    { number: "919811111111", answered_at },
    { role: "customer", number: "919876543210", answered_at },
    // With ring_all, answered a moment later.
    { number: "102", answered_at: new Date(answered_at.getTime() + 200), outcome: "hung_up" },
  ]);
  await make(2, "101", talk(10, 2), [
    { number: "101", answered_at },
    { role: "customer", number: "919876543210", answered_at },
    { role: "transfer", number: "102", answered_at },
  ]);
  await make(1, "101", ended("no-answer"), [{ number: "101" }]);
  await make(1, "101", ended("busy"), [{ number: "101", answered_at }]);
  await make(1, "102", ended("failed"), []);
  await make(0, "102", ended("canceled", { ring_seconds: null }), []);
  await make(-0.0001, "103", {}, []);
  await make(40, "101", talk(1_000, 50));
}

/** Four calls of a campaign, one of them transferred to an agent. */
async function makeCampaign(): Promise<TestVoiceCampaign> {
  const trunk = await makeSandboxTrunk(api.app, account);
  const campaign = await makeVoiceCampaign(api.app, account, {
    campaign: { trunk_id: trunk.trunk_id },
    recipients: [
      { state: "answered" },
      { state: "machine" },
      { state: "busy" },
      { state: "failed" },
    ],
  });
  const make = (recipient_id: number, call: object) =>
    makeVoiceCall(api.app, account, campaign, {
      recipient_id,
      call: { queued_at: ago(2), ...call },
    });
  const call_id = await make(1, { ...talk(45, 3), from_number: "2240000000" });
  const unaccepted = await make(2, { ...talk(5, 1), answered_by: "machine" });
  await make(3, ended("busy", { queued_at: ago(1) }));
  await make(4, { ...talk(0, 1), ended_reason: "playback_failed" });
  const leg = { on_trunk: false, state: "ended", status: "completed", initiated_at: ago(2) };
  await api.app.db.query
    .insertInto("call_legs")
    .values([
      {
        ...leg,
        account_id: account.account_id,
        call_id,
        id: 1,
        role: "customer",
        number: "9",
        answered_at,
      },
      { ...leg, account_id: account.account_id, call_id, id: 2, role: "transfer", number: "102" },
      {
        ...leg,
        account_id: account.account_id,
        call_id,
        id: 3,
        role: "transfer",
        number: "101",
        answered_at,
      },
      // An agent's voicemail, which does not press 1.
      {
        ...leg,
        account_id: account.account_id,
        call_id: unaccepted,
        id: 2,
        role: "transfer",
        number: "101",
        answered_at,
        status: "no-answer",
        outcome: "no_answer",
      },
      // An agent whose answer crossed the end of the call.
      {
        ...leg,
        account_id: account.account_id,
        call_id: unaccepted,
        id: 3,
        role: "transfer",
        number: "102",
        answered_at,
        status: "canceled",
        outcome: "hung_up",
      },
    ])
    .execute();
  return campaign;
}

type Row = Record<string, number | string | null>;
type Report = { from: string; to: string; data: Row[]; totals: Row; next_cursor: string | null };
const span = "from=2026-02-20T00:00&to=2026-03-21T00:00";

async function report(query: string): Promise<Report> {
  const answer = await api.send("GET", `/api/v1/reports/calls?${query}`, account);
  assert.equal(answer.status, 200, answer.text);
  return answer.body as Report;
}

const pick = (row: Row, ...names: string[]) => names.map((name) => row[name]);
const outcomes = ["answered", "machine", "busy", "no_answer", "failed", "canceled", "in_progress"];

test("counts each call once by its outcome and sums its seconds and credits", async () => {
  const { totals } = await report(`group_by=campaign&${span}`);
  assert.deepEqual(totals, {
    calls: 17,
    answered: 6,
    machine: 2,
    busy: 3,
    no_answer: 1,
    failed: 3,
    canceled: 1,
    in_progress: 1,
    connected: 6,
    talk_seconds: 290,
    average_talk_seconds: 29,
    ring_seconds: 85,
    billed_seconds: 1_200,
    cost: 20,
    answer_rate: 0.375,
  });
});

test("groups the same calls by campaign, day, number and the agent who took them", async () => {
  const rows = async (group: string, ...names: string[]) =>
    (await report(`group_by=${group}&${span}`)).data.map((row) => pick(row, ...names));
  const campaignRow = async (id: number) => {
    const { body } = await api.send("GET", `/api/v1/voice/campaigns/${id}`, account);
    return [id, body.name, 4, 1, 1, 1, 1, 1];
  };
  assert.deepEqual(
    await rows(
      "campaign",
      "campaign_id",
      "campaign_name",
      "calls",
      "answered",
      "machine",
      "busy",
      "failed",
      "connected",
    ),
    [
      await campaignRow(campaigns[1]!.id),
      await campaignRow(campaigns[0]!.id),
      [null, null, 9, 4, 0, 1, 1, 4],
    ],
  );
  assert.deepEqual(await rows("day", "date", "calls", "answered", "cost"), [
    ["2026-03-17", 2, 2, 6],
    ["2026-03-18", 8, 4, 14],
    ["2026-03-19", 5, 0, 0],
    ["2026-03-20", 2, 0, 0],
  ]);
  assert.deepEqual(await rows("number", "caller_id", "calls"), [
    ["2240000000", 10],
    ["9000000000", 6],
    ["9000000001", 1],
  ]);
  const { rows: named } = await api.app.db.pool.query<{ id: number; name: string }>(
    "select id, name from users where account_id = $1 and id = any($2)",
    [account.account_id, users],
  );
  const nameOf = (id: number) => named.find((user) => user.id === id)!.name;
  assert.deepEqual(
    await rows(
      "agent",
      "agent_number",
      "agent_name",
      "agent_user_id",
      "calls",
      "connected",
      "talk_seconds",
    ),
    [
      ["101", nameOf(users[0]!), users[0], 5, 3, 180],
      ["102", "Phone 102", null, 4, 2, 40],
      ["103", null, null, 1, 0, 0],
      ["919811111111", nameOf(users[1]!), users[1], 1, 1, 60],
      [null, null, null, 6, 0, 10],
    ],
  );
});

test("for any time range, the rows of every grouping add up to the totals, and the outcomes to the calls", async () => {
  const edges = [40, 39, 3, 2.5, 2, 1, 0.5, 0].map(ago);
  const summed = ["calls", ...outcomes, "connected", "talk_seconds", "ring_seconds", "cost"];
  for (const from of edges)
    for (const to of [...edges, ago(-1)].filter((edge) => edge > from)) {
      const query = `from=${from.toISOString()}&to=${to.toISOString()}`;
      const { rows } = await api.app.db.pool.query<Row>(
        `select count(*)::int as calls, coalesce(sum(talk_seconds), 0)::int as talk_seconds,
           coalesce(sum(cost), 0)::int as cost from calls
         where account_id = $1 and queued_at >= $2 and queued_at < $3`,
        [account.account_id, from, to],
      );
      for (const group of ["campaign", "day", "number", "agent"]) {
        const { data, totals } = await report(`group_by=${group}&${query}`);
        assert.deepEqual(pick(totals, "calls", "talk_seconds", "cost"), Object.values(rows[0]!));
        for (const name of summed) {
          const sum = data.reduce((so_far, row) => so_far + (row[name] as number), 0);
          assert.equal(sum, totals[name], `${name} by ${group}, ${query}`);
        }
        for (const row of [...data, totals]) {
          const sum = outcomes.reduce((so_far, name) => so_far + (row[name] as number), 0);
          assert.equal(sum, row["calls"]);
        }
      }
    }
});

test("filters a report by type, campaign, and an agent's or a customer's number", async () => {
  const calls = async (query: string) =>
    (await report(`group_by=day&${span}&${query}`)).totals["calls"];
  assert.equal(await calls("type=click_to_call"), 9);
  assert.equal(await calls("type=voice_campaign"), 8);
  assert.equal(await calls(`campaign_id=${campaigns[0]!.id}`), 4);
  assert.equal(await calls(`campaign_id=${campaigns[0]!.id}&type=click_to_call`), 0);
  assert.equal(await calls("number=101"), 5);
  assert.equal(await calls("number=9876543210"), 9);
  assert.equal(await calls("number=+919800000001"), 2);
  assert.equal(await calls("campaign_id=9007199254740992"), 0);
});

test("a day means its beginning in the account's time zone, so a report by day has exactly the days of its range", async () => {
  const { from, to, data } = await report("group_by=day&from=2026-03-18&to=2026-03-20");
  assert.deepEqual([from, to], ["2026-03-17T18:30:00.000Z", "2026-03-19T18:30:00.000Z"]);
  assert.deepEqual(
    data.map((row) => pick(row, "date", "calls")),
    [
      ["2026-03-18", 8],
      ["2026-03-19", 5],
    ],
  );
});

test("pages a report's rows with the same totals on each page", async () => {
  for (const group of ["campaign", "day", "number", "agent"]) {
    const whole = await report(`group_by=${group}&${span}`);
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? "" : `&cursor=${cursor}`;
      const part = await report(`group_by=${group}&${span}&limit=1${from}`);
      assert.deepEqual(part.totals, whole.totals);
      rows.push(...part.data);
      cursor = part.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(rows, whole.data);
  }
});

test("exports the report's rows as CSV with formulas escaped, and records the export in the audit trail", async () => {
  await api.app.db.query
    .updateTable("voice_campaigns")
    .set({ name: "=1+1" })
    .where("account_id", "=", account.account_id)
    .where("id", "=", campaigns[0]!.id)
    .execute();
  for (const group of ["campaign", "day", "number", "agent"]) {
    const query = `group_by=${group}&${span}`;
    const answer = await api.send("GET", `/api/v1/reports/calls/export?${query}`, account);
    assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8", answer.text);
    const disposition = answer.headers.get("content-disposition");
    assert.equal(disposition, `attachment; filename="call-report-by-${group}.csv"`);
    const { data } = await report(query);
    const cells = data.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value === "=1+1" ? "'=1+1" : String(value ?? ""),
        ]),
      ),
    );
    assert.deepEqual(parse(answer.text, { columns: true }), cells);
  }
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account.account_id)
    .where("action", "=", "call_report.exported")
    .execute();
  assert.equal(entries.length, 4);
  assert.deepEqual(entries[0], { detail: { filters: ["group_by", "from", "to"] } });
});

test("reports invalid parameters by field with 422", async () => {
  const violations: Record<string, readonly string[]> = {
    "": ["group_by"],
    "group_by=trunk": ["group_by"],
    "group_by=agent&type=voice": ["type"],
    "group_by=agent&number=x": ["number"],
    "group_by=agent&from=1969-01-01T00:00": ["from"],
    "group_by=agent&from=2026-03-02T00:00&to=2026-03-01T00:00": ["to"],
    "group_by=agent&limit=1001": ["limit"],
    "group_by=agent&cursor=x": ["cursor"],
    "group_by=agent&chat_number_id=1": ["chat_number_id"],
  };
  for (const [query, fields] of Object.entries(violations)) {
    const answer = await api.send("GET", `/api/v1/reports/calls?${query}`, account);
    assert.deepEqual(failingFields(answer), fields, query);
  }
});
