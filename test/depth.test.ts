// What a page, a filter and a background loop read does not depend on how much lies behind it: one heavy account
// beside small ones. The limits are rows read, which do not depend on the machine.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import pg from "pg";
import { listLeads, searchLeads } from "../server/crm/leads/list-leads.ts";
import { listAudit } from "../server/accounts/audit/audit-trail.ts";
import { listDeliveries } from "../server/callbacks/deliveries/deliveries.ts";
import { findLead } from "../server/crm/leads/find-lead.ts";
import { openSenders } from "../server/chat/sender/open-senders.ts";
import {
  findDispatching,
  findOpenCampaigns,
  recordAndMark,
} from "../server/chat/sender/internal/sender-statements.ts";
import { countFailures } from "../server/chat/campaigns/campaign-pace.ts";
import { recipientsAfter } from "../server/chat/campaigns/campaign-recipients.ts";
import { features, permissionNames } from "../server/accounts/permissions.ts";
import { call_record_types } from "../server/calls/records/call-record-schema.ts";
import { listCalls } from "../server/calls/records/call-records.ts";
import { listCreditLedger } from "../server/credits/credit-ledger.ts";
import { parts } from "../server/people/people-access.ts";
import { entry_kinds } from "../server/people/person-schema.ts";
import { readPersonTimeline } from "../server/people/person-timeline.ts";
import { searchPeople } from "../server/people/search-people.ts";
import { readOverview } from "../server/reports/read-overview.ts";
import type { App } from "../server/engine/app.ts";
import { default_settings } from "../server/worker.ts";
import { makeAccount, makeCredits, type TestAccount } from "./support/account-factory.ts";
import { startApi, type TestApi } from "./support/api.ts";
import { makeChatCampaign, makeChatNumber, makeChatTemplate } from "./support/chat-factory.ts";
import { fillDepth } from "./support/fill-depth.ts";
import { rowsRead } from "./support/rows-read.ts";
import { makeSandboxTrunk } from "./support/telephony-factory.ts";
import { makeVoiceCampaign } from "./support/voice-factory.ts";

const rows = 20_000;

let api: TestApi;
let heavy: TestAccount;
before(async () => {
  api = await startApi();
  api.clock.set(new Date());
  heavy = await makeAccount(api.app);
  const number = await makeChatNumber(api.app, heavy);
  const template_id = await makeChatTemplate(api.app, heavy, number);
  const trunk = await makeSandboxTrunk(api.app, heavy);
  const db = new pg.Client({ connectionString: api.database_url });
  await db.connect();
  const place = { ...heavy, ...trunk, chat_number_id: number.id, template_id };
  await fillDepth([db], place, { rows, small_accounts: 50 });
  await db.query("analyze");
  await db.end();
});
after(() => api.close());

async function readsPage(limit: number): Promise<void> {
  const { account_id, workspace_id } = heavy;
  const statusId = (await optionsOf("status"))[0]!;
  for (const [id, filter] of [
    [null, {}],
    [rows / 2, {}],
    [null, { statusId }],
  ] as const) {
    const read = await rowsRead(api.app, (app) =>
      searchLeads(app.db.query, account_id, workspace_id, filter, { id, limit }),
    );
    assert.ok(read >= limit && read < 50 * limit, `read ${read} rows`);
  }
}

test("a page of 51 leads reads only its rows, at the start, in the middle and by status", () =>
  readsPage(51));

test("a page of an export of leads reads only its rows", () => readsPage(201));

test("a single lead reads only its rows", async () => {
  const { account_id, workspace_id } = heavy;
  const read = await rowsRead(api.app, (app) =>
    findLead(app.db.query, account_id, workspace_id, rows / 2),
  );
  assert.ok(read > 0 && read < 20, `read ${read} rows`);
});

test("the filter of recipients by phone reads only its matches", async () => {
  const { campaign_id, phone } = await api.app.db.query
    .selectFrom("chat_recipients")
    .select(["campaign_id", "phone"])
    .where("account_id", "=", heavy.account_id)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  const key = { account_id: heavy.account_id, campaign_id };
  const page = { id: 0, limit: 51 };
  const read = await rowsRead(api.app, (app) =>
    recipientsAfter(app.db.query, key, { phone: phone! }, page),
  );
  assert.ok(read > 0 && read < 20, `read ${read} rows`);
});

test("a person's timeline and the search for a person read only their rows", async () => {
  const { account_id } = heavy;
  const [{ phone }] = (
    await api.app.db.pool.query<{ phone: string }>(
      "select to_phone as phone from calls where account_id = $1 order by id desc limit 1",
      [account_id],
    )
  ).rows as [{ phone: string }];
  const visible = { parts: new Set(parts), kinds: new Set(entry_kinds) };
  const timeline = await rowsRead(api.app, (app) =>
    readPersonTimeline(app, { account_id, phone }, visible, { limit: 50 }),
  );
  assert.ok(timeline > 0 && timeline < 1_000, `read ${timeline} rows`);
  const caller = {
    account: { id: account_id, country_code: "91", features: new Set(features) },
    permissions: new Set(permissionNames),
  } as never;
  for (const [q, rows_max] of [
    // Most of it are the newest 5,000 leads, contacts, members, replies and calls, whose last digits are compared.
    [phone.slice(2, 6), 27_000],
    ["no such name", 17_000],
  ] as const) {
    const read = await rowsRead(api.app, (app) => searchPeople(app, caller, q));
    assert.ok(read < rows_max, `read ${read} rows for ${q}`);
  }
});

test("the overview reads the rows of today", async () => {
  // Of earlier days, of campaigns that have finished.
  await api.app.db.pool.query(
    `insert into chat_minutes (account_id, campaign_id, slot, minute_of_day, minute, sent, delivered, failed)
     select $1, c, 's', m, $2::timestamptz - (1 + c) * interval '1 day' - m * interval '1 min', 1, 1, 0
     from generate_series(1, 14) c, generate_series(0, 1439) m`,
    [heavy.account_id, api.clock.now()],
  );
  await api.app.db.pool.query("analyze chat_minutes");
  const account = { id: heavy.account_id, time_zone: "UTC", features: new Set(features) };
  const caller = { account, permissions: new Set(permissionNames) } as never;
  const read = await rowsRead(api.app, (app) => readOverview(app, caller));
  assert.ok(read > 0 && read < 1_000, `read ${read} rows`);
});

test("the filters of recipients by state and error read at most the campaign", async () => {
  const { account_id } = heavy;
  const { id: campaign_id, recipients } = (
    await api.app.db.pool.query<{ id: number; recipients: number }>(
      `select campaign_id as id, count(*)::int as recipients from chat_recipients
       where account_id = $1 group by 1 order by 1 limit 1`,
      [account_id],
    )
  ).rows[0]!;
  const key = { account_id, campaign_id };
  for (const filter of [{ state: "failed" }, { error: "none such" }] as const) {
    const read = await rowsRead(api.app, (app) =>
      recipientsAfter(app.db.query, key, filter, { id: 0, limit: 51 }),
    );
    assert.ok(read > 0 && read <= recipients + 51, `read ${read} rows of ${recipients}`);
  }
});

const limit = 50;

/** Reads a page with each filter, and asserts that it has rows and read at most 20 times those and a full page. */
async function eachReadsItsRows<Filter>(
  filters: readonly Filter[],
  list: (app: App, filter: Filter) => Promise<{ data: readonly unknown[] }>,
): Promise<void> {
  for (const filter of filters) {
    let found = 0;
    const read = await rowsRead(api.app, async (app) => {
      found = (await list(app, filter)).data.length;
    });
    const context = `read ${read} rows for ${found} of ${JSON.stringify(filter)}`;
    assert.ok(found > 0 && read >= found && read <= 20 * (found + limit), context);
  }
}

const days_ago = (days: number) => new Date(Date.now() - days * 86_400_000);
/** Three days, two months ago. */
const old = { from: days_ago(63), to: days_ago(60) };

test("a page of calls of each type reads only its rows", () =>
  eachReadsItsRows(
    call_record_types.flatMap((type) => [{ type }, { type, ...old }]),
    (app, filter) => listCalls(app.db.query, heavy.account_id, filter, { limit }),
  ));

test("a page of leads by agent, status and time reads only its rows, however old", async () => {
  const { account_id, workspace_id } = heavy;
  const statusId = (await optionsOf("status")).at(-1)!;
  const assignedAgentId = heavy.owner_id;
  const time = { createdFrom: old.from, createdTo: old.to };
  await eachReadsItsRows(
    [{}, { statusId }, { assignedAgentId }, { statusId, assignedAgentId }, time],
    (app, filter) => listLeads(app, account_id, workspace_id, filter, { limit }),
  );
});

test("a page of the audit trail by action, user, subject and time reads only its rows, however old", () =>
  eachReadsItsRows(
    [
      {},
      { action: "role.created" },
      { user_id: heavy.owner_id },
      { subject_id: "1" },
      { action: "role.created", user_id: heavy.owner_id },
      old,
      { action: "click_to_call.submitted", ...old },
    ],
    (app, filter) => listAudit(app.db.query, heavy.account_id, filter, { limit }),
  ));

test("a page of deliveries by endpoint, state, type and time reads only its rows, however old", async () => {
  const { account_id } = heavy;
  const { id: endpoint_id } = await api.app.db.query
    .selectFrom("callback_endpoints")
    .select("id")
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  await eachReadsItsRows(
    [
      {},
      { endpoint_id },
      { state: "failed" },
      { type: "lead.created" },
      old,
      { endpoint_id, ...old },
      { type: "chat.message.delivered", ...old },
    ] as const,
    (app, filter) => listDeliveries(app.db.query, account_id, filter, { limit }),
  );
});

test("a page of the ledger by kind, type, reservation and time reads only its rows, however old", async () => {
  const { account_id } = heavy;
  const { reservation_id } = await api.app.db.query
    .selectFrom("chat_campaigns")
    .select("reservation_id")
    .where("account_id", "=", account_id)
    .orderBy("id")
    .limit(1)
    .executeTakeFirstOrThrow();
  await eachReadsItsRows(
    [
      {},
      { kind: "chat" },
      { kind: "call", type: "reserve" },
      { type: "reserve" },
      { type: "capture" },
      { reservation_id },
      { reservation_id, type: "capture" },
      old,
      { kind: "call", ...old },
    ] as const,
    (app, filter) => listCreditLedger(app.db.query, account_id, filter, { limit }),
  );
});

test("the failures of a campaign are counted without reading its other recipients", async () => {
  const { rows: found } = await api.app.db.pool.query<{ campaign_id: number; ended: number }>(
    `select campaign_id::int, count(ended_at)::int as ended from chat_recipients
     where account_id = $1 and state <> 'queued' group by 1 order by 1 limit 1`,
    [heavy.account_id],
  );
  const { campaign_id, ended } = found[0]!;
  const key = { account_id: heavy.account_id, campaign_id };
  const read = await rowsRead(api.app, (app) => countFailures(app.db.query, key));
  assert.ok(read >= ended && read < 1.5 * ended, `read ${read} rows of ${ended} failures`);
});

test("the senders' poll does not read leases that are not held", async () => {
  const read = await rowsRead(api.app, async (app) => {
    const polled = openSenders(app, default_settings);
    await polled.startDue();
    await polled.stop();
  });
  assert.ok(read < 200, `read ${read} rows`);
});

test("a sender's statements read only the recipients they mark, however many are queued", async () => {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 5_000 });
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  const recipients = Array.from({ length: 5_000 }, (_, n) => ({
    phone: String(919_700_000_000 + n),
  }));
  const campaign_id = await makeChatCampaign(app, account, number, template, recipients);
  const { account_id } = account;
  const name = `chat_sender:${number.id}`;
  const { rows: leases } = await app.db.pool.query<{ fence: number }>(
    "select acquire_lease($1, $2, gen_random_uuid(), 600000) as fence",
    [account_id, name],
  );
  const holder = { account_id, number_id: number.id, fence: leases[0]!.fence };
  const mark = (of: App) => recordAndMark(of, holder, [], { campaign_id, take: 20, after: 0 });
  assert.equal((await mark(app)).marked.length, 20);
  for (const [work, rows_max] of [
    [mark, 500],
    [(of: App) => findOpenCampaigns(of, account_id, number.id), 500],
    [(of: App) => findDispatching(of, account_id, [campaign_id]), 500],
  ] as const) {
    const read = await rowsRead(app, work);
    assert.ok(read > 0 && read < rows_max, `read ${read} rows in ${work.toString()}`);
  }
});

async function purgesBatch(setting: "events" | "calls" | "messages"): Promise<void> {
  await api.app.db.pool.query(
    `update accounts set retention_${setting}_days = 30 where account_id = $1`,
    [heavy.account_id],
  );
  let purged = 0;
  const read = await rowsRead(api.app, async ({ db, clock }) => {
    const batch = await sql<{ purged: number; more: boolean }>`
      select * from apply_retention(${heavy.account_id}, ${setting}, 1000, ${clock.now()})
    `.execute(db.query);
    purged = batch.rows[0]!.purged;
  });
  assert.ok(purged >= 50, `${purged} rows were deleted`);
  assert.ok(read >= purged && read < 5 * Math.max(purged, 1_000), `read ${read} rows`);
}

test("a batch of retention reads only the events that it deletes", () => purgesBatch("events"));

test("a batch of retention reads only the calls that it deletes", () => purgesBatch("calls"));

test("a batch of retention reads only the messages that it deletes", () => purgesBatch("messages"));

async function optionsOf(picklist: string): Promise<number[]> {
  const options = await api.app.db.query
    .selectFrom("picklist_options")
    .select("id")
    .where("account_id", "=", heavy.account_id)
    .where("picklist", "=", picklist)
    .orderBy("position")
    .execute();
  return options.map(({ id }) => id);
}

test("a step of retention checks a batch of the campaign endpoints in use, and later steps the others", async () => {
  const { account_id } = heavy;
  const { pool } = api.app.db;
  const { id } = await makeVoiceCampaign(api.app, heavy);
  await pool.query(
    `with made as (
       insert into call_campaigns (account_id, kind, created_by, created_at)
       select $1, 'voice', 0, now() from generate_series(1, 2000) returning id)
     insert into voice_campaigns
     select (jsonb_populate_record(v, jsonb_build_object('id', m.id, 'public_id', gen_random_uuid(),
       'callback_url', 'http://localhost/' || row_number() over (order by m.id), 'finished_at', null))).*
     from voice_campaigns v, made m where v.account_id = $1 and v.id = $2`,
    [account_id, id],
  );
  await pool.query(
    `insert into callback_endpoints (account_id, kind, url, secret, created_at, updated_at)
     select $1, 'campaign', 'http://localhost/' || n, '', $2, $2 from generate_series(1, 2001) n`,
    [account_id, new Date(api.clock.now().getTime() - 366 * 86_400_000)],
  );
  const now = api.clock.now();
  type Step = { deleted: number; more: boolean };
  const step = async (app: App = api.app): Promise<Step> => {
    const run = sql<Step>`select deleted, more from purge_endpoints(${account_id}, ${now}, 100, ${now})`;
    return (await run.execute(app.db.query)).rows[0]!;
  };
  const read = await rowsRead(api.app, step);
  assert.ok(read >= 100 && read < 1_000, `read ${read} rows`);
  const steps: Step[] = [];
  do steps.push(await step());
  while (steps.at(-1)!.more);
  // Only the last endpoint has no campaign.
  assert.deepEqual([steps.length, steps.at(-1)], [21, { deleted: 1, more: false }]);
  assert.deepEqual(await step(), { deleted: 0, more: false });
});
