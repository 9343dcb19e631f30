import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { failingFields } from "../../test/support/assert-guarded.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../test/support/chat-factory.ts";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import { completeChatCampaigns } from "../chat/campaigns/complete-chat-campaigns.ts";
import { rebuildMessageCounts } from "./count-campaigns.ts";
import { countOfState, type RecipientState } from "../chat/recipients/recipient-states.ts";

let api: TestApi;
let account: TestAccount;
let numbers: readonly TestChatNumber[];
let campaigns: readonly number[];

/** Each local day in Kolkata begins at 18:30 UTC of the day before. */
const times = [
  "2026-03-01T10:00:00Z",
  "2026-03-01T18:29:59Z",
  "2026-03-01T18:30:00Z",
  "2026-03-02T12:00:00Z",
  "2026-03-05T00:00:00Z",
];
const now = "2026-03-20T06:00:00Z";

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  const { account_id } = account;
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "Asia/Kolkata" })
    .where("account_id", "=", account_id)
    .execute();
  await makeCredits(api.app, account, { chat: 1_000 });
  numbers = [await makeChatNumber(api.app, account), await makeChatNumber(api.app, account)];
  campaigns = await makeCampaigns();
  api.clock.set(now);
});
after(() => api.close());

/** Three campaigns over several days, one within a day and one scheduled; two have pending recipients. */
async function makeCampaigns(): Promise<number[]> {
  const ids: number[] = [];
  for (const [i, first] of [0, 0, 2, 3, 4].entries()) {
    api.clock.set(times[first]!);
    const number = numbers[i % 2]!;
    const template = await makeChatTemplate(api.app, account, number);
    const people = Array.from({ length: 14 }, (_, n) => ({ phone: `9198000${i}00${n + 10}` }));
    const id = await makeChatCampaign(api.app, account, number, template, people);
    ids.push(id);
    const days = i === 3 ? [3] : times.map((_, at) => at).slice(first);
    if (i < 4) await sendOn(id, days);
  }
  api.clock.set(times[4]!);
  await completeChatCampaigns(api.app, account.account_id, ids);
  return ids;
}

/** Sends a campaign on these days, to an equal share of its recipients each; in a long one some stay pending. */
async function sendOn(id: number, days: readonly number[]): Promise<void> {
  const outcomes: RecipientState[][] = [
    ["dispatching", "accepted", "sent", "delivered", "read"],
    ["dispatching", "sent", "delivered"],
    ["dispatching", "accepted", "undelivered"],
    ["dispatching", "refused"],
    ["skipped"],
    ["dispatching", "unknown"],
    ["dispatching", "refused", "delivered"],
  ];
  const { rows } = await api.app.db.pool.query<{ id: number }>(
    "select id from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [account.account_id, id],
  );
  const known = days.length === 1 ? rows : rows.slice(0, -3);
  for (const [n, { id: recipient }] of known.entries()) {
    const path = outcomes[n % outcomes.length]!;
    const at = times[days[n % days.length]!]!;
    // A campaign within one day is completed.
    const taken = days.length === 1 && path.includes("unknown") ? [...path, "unresolved"] : path;
    for (const state of taken) await move(id, recipient, state, at);
  }
}

async function move(campaign_id: number, id: number, state: string, at: string): Promise<void> {
  const dispatches = state === "dispatching" || state === "skipped" ? 0 : 1;
  const moves = JSON.stringify([{ campaign_id, id, state, dispatches, due_at: at }]);
  const { rows } = await api.app.db.pool.query(
    "select * from chat_move_recipients_json($1, 'inbound', $2, $3)",
    [account.account_id, moves, at],
  );
  assert.equal(rows.length, 1, `${state} of ${id}`);
}

type Row = Record<string, number | string | null>;
type Report = { from: string; to: string; data: Row[]; totals: Row; next_cursor: string | null };

async function report(query: string): Promise<Report> {
  const answer = await api.send("GET", `/api/v1/reports/chat?${query}`, account);
  assert.equal(answer.status, 200, answer.text);
  return answer.body as Report;
}

const groups = ["campaign", "day", "number"] as const;
const summed = ["total", "sent", "delivered", "read", "failed", "pending", "credits"];
const sums = (rows: readonly Row[]) =>
  Object.fromEntries(
    summed.map((name) => [name, rows.reduce((sum, row) => sum + (row[name] as number), 0)]),
  );

/** The expected counts, computed from the recipients one by one. */
async function expectedCounts(from: Date, to: Date): Promise<Map<string, Row>> {
  const { rows } = await api.app.db.pool.query<{
    campaign_id: number;
    chat_number_id: number;
    state: RecipientState;
    charged: boolean;
    at: Date;
  }>(
    `select r.campaign_id, c.chat_number_id, r.state, r.charged,
       coalesce(r.dispatched_at, r.ended_at, c.started_at) as at
     from chat_recipients r join chat_campaigns c on c.account_id = r.account_id and c.id = r.campaign_id
     where r.account_id = $1`,
    [account.account_id],
  );
  const found = new Map<string, Row>();
  for (const row of rows.filter(({ at }) => at >= from && at < to)) {
    const date = new Date(row.at.getTime() + 5.5 * 3_600_000).toISOString().slice(0, 10);
    const { state } = row;
    const one: Row = {
      total: 1,
      sent: Number(countOfState[state] === "sent"),
      delivered: Number(state === "delivered" || state === "read"),
      read: Number(state === "read"),
      failed: Number(countOfState[state] === "failed"),
      pending: Number(countOfState[state] === "pending"),
      credits: Number(row.charged),
    };
    const keys = [`campaign ${row.campaign_id}`, `day ${date}`, `number ${row.chat_number_id}`];
    for (const key of [...keys, "totals"]) found.set(key, sums([found.get(key) ?? sums([]), one]));
  }
  return found;
}

const key_of = { campaign: "campaign_id", day: "date", number: "chat_number_id" } as const;

test("for any time range, counts each recipient once by campaign, day and number", async () => {
  const edges = ["2026-02-01T00:00:00Z", ...times.slice(1), "2026-03-05T00:00:01Z", now].map(
    (time) => new Date(time),
  );
  for (const from of edges)
    for (const to of edges.filter((edge) => edge > from)) {
      const expected = await expectedCounts(from, to);
      const query = `from=${from.toISOString()}&to=${to.toISOString()}`;
      for (const group of groups) {
        const { data, totals } = await report(`group_by=${group}&${query}`);
        const seen = new Map(
          data
            .filter((row) => row["total"] !== 0)
            .map((row) => [`${group} ${row[key_of[group]]}`, sums([row])] as const),
        );
        const all = [...expected].filter(([key]) => key.startsWith(`${group} `));
        assert.deepEqual(seen, new Map(all), `${group} ${query}`);
        assert.deepEqual(sums([totals]), expected.get("totals") ?? sums([]), `${group} ${query}`);
      }
    }
});

test("a campaign's row equals its record, and the credits equal the ledger", async () => {
  const { data, totals } = await report("group_by=campaign");
  assert.deepEqual(
    data.map((row) => row["campaign_id"]),
    campaigns.toReversed(),
  );
  for (const row of data) {
    const path = `/api/v1/chat/campaigns/${row["campaign_id"]}`;
    const { body } = await api.send("GET", path, account);
    assert.deepEqual(
      [row["campaign_name"], row["total"], row["sent"], row["failed"], row["pending"]],
      [body.name, body.total_contacts, body.sent_count, body.failed_count, body.pending_count],
    );
    assert.deepEqual(
      [row["delivered"], row["read"], row["credits"]],
      [body.delivered_count, body.read_count, body.credits.captured - body.credits.refunded],
    );
  }
  const { rows } = await api.app.db.pool.query<{ spent: number }>(
    `select sum(case type when 'capture' then amount when 'refund' then -amount else 0 end)::bigint as spent
     from credit_transfers where account_id = $1 and kind = 'chat'`,
    [account.account_id],
  );
  assert.equal(totals["credits"], rows[0]!.spent);
  assert.ok(rows[0]!.spent > 0 && data.some((row) => row["pending"] !== 0));
});

test("rates are shares of sent and delivered messages, and null without any", async () => {
  const { data, totals } = await report("group_by=day");
  assert.deepEqual(
    data.map((row) => row["date"]),
    ["2026-03-01", "2026-03-02", "2026-03-05"],
  );
  for (const row of [...data, totals]) {
    const { sent, delivered, read } = row as Record<string, number>;
    const share = (part: number, whole: number) =>
      whole === 0 ? null : Number((part / whole).toFixed(4));
    assert.equal(row["delivery_rate"], share(delivered!, sent!));
    assert.equal(row["read_rate"], share(read!, delivered!));
  }
  const nothing = await report("group_by=day&from=2020-01-01T00:00&to=2020-01-02T00:00");
  const none = { replies: 0, opt_outs: 0, delivery_rate: null, read_rate: null };
  assert.deepEqual([nothing.data, nothing.totals], [[], { ...sums([]), ...none }]);
});

test("counts replies to campaigns' messages, with opt-outs, at the time of their arrival", async () => {
  const reply = (n: number, campaign: number | null, received_at: string, opted_out = false) => ({
    account_id: account.account_id,
    chat_number_id: numbers[0]!.id,
    provider_message_id: `wamid.${n}`,
    phone: "919800000000",
    type: "text",
    campaign_id: campaign,
    opted_out,
    received_at: new Date(received_at),
  });
  await api.app.db.query
    .insertInto("chat_replies")
    .values([
      reply(1, campaigns[0]!, "2026-03-01T12:00:00Z"),
      reply(2, campaigns[0]!, "2026-03-10T12:00:00Z", true),
      reply(3, campaigns[2]!, "2026-03-10T20:00:00Z"),
      reply(4, null, "2026-03-10T12:00:00Z", true),
    ])
    .execute();
  await rebuildMessageCounts(api.app, account.account_id);
  const counted = async (group: (typeof groups)[number], query = "") =>
    (await report(`group_by=${group}${query}`)).data
      .filter((row) => row["replies"] !== 0)
      .map((row) => [row[key_of[group]], row["replies"], row["opt_outs"]]);
  assert.deepEqual(await counted("day"), [
    ["2026-03-01", 1, 0],
    ["2026-03-10", 1, 1],
    ["2026-03-11", 1, 0],
  ]);
  assert.deepEqual(await counted("campaign"), [
    [campaigns[2], 1, 0],
    [campaigns[0], 2, 1],
  ]);
  assert.deepEqual(await counted("number"), [[numbers[0]!.id, 3, 1]]);
  assert.deepEqual(await counted("day", `&campaign_id=${campaigns[2]}`), [["2026-03-11", 1, 0]]);
  assert.deepEqual(await counted("campaign", "&from=2026-03-05T00:00&to=2026-03-10T18:00"), [
    [campaigns[0], 1, 1],
  ]);
});

test("filters a report by campaign and number, and pages it with the same totals on each page", async () => {
  const [first, second] = numbers;
  const of = await report(`group_by=campaign&chat_number_id=${second!.id}`);
  assert.deepEqual(
    of.data.map((row) => row["campaign_id"]),
    [campaigns[3], campaigns[1]],
  );
  const one = await report(`group_by=number&campaign_id=${campaigns[0]}`);
  assert.deepEqual(
    one.data.map((row) => [row["chat_number_id"], row["phone_number"], row["total"]]),
    [[first!.id, "919000000000", 14]],
  );
  const unknown = await report(`group_by=campaign&campaign_id=9007199254740992`);
  assert.deepEqual(unknown.data, []);
  for (const group of groups) {
    const whole = await report(`group_by=${group}`);
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const part = await report(`group_by=${group}&limit=2${cursor ? `&cursor=${cursor}` : ""}`);
      assert.deepEqual(part.totals, whole.totals);
      rows.push(...part.data);
      cursor = part.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(rows, whole.data);
  }
});

test("exports the report's rows as CSV, and records the export in the audit trail", async () => {
  for (const group of groups) {
    const query = `group_by=${group}&from=2026-03-01T00:00`;
    const answer = await api.send("GET", `/api/v1/reports/chat/export?${query}`, account);
    assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8", answer.text);
    const disposition = answer.headers.get("content-disposition");
    assert.equal(disposition, `attachment; filename="chat-report-by-${group}.csv"`);
    const { data } = await report(query);
    const cells = data.map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? "")])),
    );
    assert.deepEqual(parse(answer.text, { columns: true }), cells);
  }
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account.account_id)
    .where("action", "=", "chat_report.exported")
    .execute();
  assert.deepEqual(
    entries,
    groups.map(() => ({ detail: { filters: ["group_by", "from"] } })),
  );
});

test("defaults to the last 30 days in the account's time zone, and reports invalid parameters by field with 422", async () => {
  const { from, to } = await report("group_by=day");
  assert.deepEqual([from, to], ["2026-02-18T18:30:00.000Z", "2026-03-20T06:00:00.000Z"]);
  const violations: Record<string, readonly string[]> = {
    "": ["group_by"],
    "group_by=agent": ["group_by"],
    "group_by=day&from=yesterday&to=2026-02-30T00:00Z": ["from", "to"],
    "group_by=day&from=2026-03-02T00:00&to=2026-03-02T00:00": ["to"],
    "group_by=day&from=2026-02-29&to=2026-3-1": ["from", "to"],
    "group_by=day&from=2026-03-21T00:00": ["from"],
    "group_by=day&from=2025-03-01T00:00&to=2026-03-03T00:00": ["from"],
    "group_by=day&from=2025-03-01T00:00": ["from"],
    "group_by=day&campaign_id=x": ["campaign_id"],
    "group_by=day&cursor=x": ["cursor"],
    "group_by=day&type=voice": ["type"],
  };
  for (const [query, fields] of Object.entries(violations)) {
    const answer = await api.send("GET", `/api/v1/reports/chat?${query}`, account);
    assert.deepEqual(failingFields(answer), fields, query);
  }
  const longest = "from=2025-03-02T00:00&to=2026-03-03T00:00";
  assert.equal((await report(`group_by=day&${longest}`)).data.length > 0, true);
});

test("a campaign counts on the same days after its recipients were purged, by whole quarter-hours", async () => {
  const query = `group_by=day&campaign_id=${campaigns[0]}`;
  const kept = await report(query);
  assert.ok(kept.data.length > 1);
  const values = [account.account_id, campaigns[0]];
  for (const table of ["chat_recipients", "chat_replies"])
    await api.app.db.pool.query(
      `delete from ${table} where account_id = $1 and campaign_id = $2`,
      values,
    );
  await api.app.db.pool.query(
    `update chat_campaigns set purged_at = now(), purged_replies = 2 where account_id = $1 and id = $2`,
    values,
  );
  assert.deepEqual(await report(query), kept);
  // Some were dispatched at 18:29:59, in the quarter-hour of 18:15.
  const within = async (range: string) => (await report(`${query}&${range}`)).totals["total"];
  const whole = await within("from=2026-03-01T18:15:00Z&to=2026-03-01T18:30:00Z");
  assert.equal(await within("from=2026-03-01T18:15:00Z&to=2026-03-01T18:20:00Z"), whole);
  assert.equal(await within("from=2026-03-01T18:20:00Z&to=2026-03-01T18:30:00Z"), 0);
  assert.notEqual(whole, 0);
});
