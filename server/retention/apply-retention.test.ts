// What retention deletes and what it keeps.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeEndpoint, makeEvents, relay } from "../../test/support/callback-factory.ts";
import { makeNode, makeTrunk } from "../../test/support/telephony-factory.ts";
import { failed, makeCall } from "../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import {
  checkCampaigns,
  checkLedger,
  checkVoiceCampaigns,
} from "../../test/support/check-invariants.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { awaitsLock } from "../../test/support/awaits-lock.ts";
import { voiceSandboxStub } from "../../test/support/sandbox-stub.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { rowsRead } from "../../test/support/rows-read.ts";
import { openStatementsRead } from "../../test/support/statements-read.ts";
import { closeReservation } from "../credits/close-reservation.ts";
import { extendReservation } from "../credits/extend-reservation.ts";
import { reserveCredits } from "../credits/reserve-credits.ts";
import { spendCredit } from "../credits/spend-credit.ts";
import { completeChatCampaigns } from "../chat/campaigns/complete-chat-campaigns.ts";
import { VoiceError } from "../drivers/voice/driver.ts";
import { openDatabase } from "../lib/database/database.ts";
import { openMetrics } from "../lib/metrics.ts";
import { openInstallationGauges } from "../reports/measure-installation.ts";
import { applyRetention } from "./apply-retention.ts";
import { purgeRecordings } from "./purge-recordings.ts";

const start = new Date("2026-03-01T10:00:00Z");
const day_ms = 86_400_000;

/** The recordings deleted from nodes, by name, and the nodes that do not respond. */
const deleted: string[] = [];
const silent = new Set<number>();
/** The recordings that their nodes refuse to delete. */
const refused = new Set<string>();

let api: TestApi;
before(async () => {
  const sandbox: typeof voiceSandboxStub = {
    ...voiceSandboxStub,
    async deleteRecording({ id }, recording) {
      if (silent.has(id)) throw new VoiceError("unreachable", "it is down");
      if (refused.has(recording)) throw new VoiceError("refused", "it is read-only");
      deleted.push(recording);
    },
  };
  api = await startApi({ voiceDrivers: { sandbox } });
  api.clock.set(start);
});
after(() => api.close());
// Keeps the accounts of a test from being due in the next one.
afterEach(() =>
  api.app.db.pool.query(`update accounts set retention_events_days = null,
    retention_messages_days = null, retention_calls_days = null, retention_recordings_days = null,
    retention_idempotency_keys_days = null, retention_audit_days = null, retention_ledger_days = null;
    delete from invitations; delete from sign_in_links`),
);

const many = <Row>(n: number, row: Row): Row[] => Array.from({ length: n }, () => row);
const never = new AbortController().signal;
const daysAgo = (days: number) => new Date(api.clock.now().getTime() - days * day_ms);

/** An account with these retention settings that keeps everything else forever. */
async function account(retention: Record<string, number | null> = {}): Promise<TestAccount> {
  const made = await makeAccount(api.app);
  await makeCredits(api.app, made, { chat: 100, call: 100 });
  await set(made, { events_days: null, ...retention });
  return made;
}

async function set({ token }: TestAccount, retention: Record<string, number | null>) {
  const answer = await api.send("PATCH", "/api/v1/account", { token, json: { retention } });
  assert.equal(answer.status, 200, answer.text);
}

/** Repeats until nothing more is deleted; returns the number of rows of each iteration. */
async function applyAll(iterate = applyRetention): Promise<number[]> {
  const taken: number[] = [];
  for (;;) {
    const rows = await iterate(api.app, never);
    if (rows === 0) return taken;
    taken.push(rows);
  }
}

async function rowsOf(table: string, { account_id }: TestAccount, where = "true"): Promise<number> {
  const { rows } = await api.app.db.pool.query<{ n: number }>(
    `select count(*)::int as n from ${table} where account_id = $1 and ${where}`,
    [account_id],
  );
  return rows[0]!.n;
}

const get = async ({ token }: TestAccount, path: string) => {
  const answer = await api.send("GET", path, { token });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};

test("deletes expired events with their deliveries, in small steps, and keeps newer, foreign and unrelayed ones", async () => {
  const mine = await account({ events_days: 10 });
  const other = await account();
  await makeEndpoint(api.app, mine, { types: ["lead.updated"] });
  for (const owner of [mine, other]) {
    await makeEvents(
      api.app,
      owner,
      many(2_500, { type: "lead.updated", occurred_at: daysAgo(11) }),
    );
    await makeEvents(api.app, owner, many(1_500, { occurred_at: daysAgo(11) }));
    await makeEvents(api.app, owner, many(3, { type: "lead.updated", occurred_at: daysAgo(9) }));
  }
  while ((await rowsOf("events", other, "seq is null")) > 0) await relay(api.app);
  while ((await rowsOf("events", mine, "seq is null")) > 0) await relay(api.app);
  await makeEvents(api.app, mine, [{ occurred_at: daysAgo(11) }]);
  assert.equal(await rowsOf("callback_deliveries", mine), 2_503);
  await api.app.db.pool.query(
    `insert into callback_attempts (account_id, delivery_id, at, duration_ms)
     select account_id, id, now(), 1 from callback_deliveries where account_id = $1`,
    [mine.account_id],
  );

  assert.equal(await applyRetention(api.app, AbortSignal.abort()), 0);
  assert.equal(await rowsOf("events", mine), 4_004);
  const taken = await applyAll();
  // The deliveries of the first step are as many as it may delete.
  assert.deepEqual(taken, [2_000, 2_000]);
  assert.equal(await rowsOf("events", mine), 4);
  assert.equal(await rowsOf("events", mine, "seq is null"), 1);
  assert.equal(await rowsOf("callback_deliveries", mine), 3);
  assert.equal(await rowsOf("callback_attempts", mine), 3);
  assert.equal(await rowsOf("events", other), 4_003);
});

test("an event that happened later than those recorded after it is kept with its delivery, and deleted when it expires", async () => {
  const mine = await account({ events_days: 10 });
  await makeEndpoint(api.app, mine, { types: ["lead.updated"] });
  await makeEvents(
    api.app,
    mine,
    [12, 9, 12, 9, 12].map((days) => ({ type: "lead.updated", occurred_at: daysAgo(days) })),
  );
  await relay(api.app);
  assert.deepEqual(await applyAll(), [3]);
  assert.equal(await rowsOf("events", mine, "seq in (2, 4)"), 2);
  assert.equal(await rowsOf("callback_deliveries", mine, "seq in (2, 4)"), 2);
  assert.equal(await rowsOf("callback_deliveries", mine), 2);
  api.clock.advance(2 * day_ms);
  assert.deepEqual(await applyAll(), [2]);
  assert.equal(await rowsOf("events", mine), 0);
});

test("an account is due again some hours later, or immediately when its settings change", async () => {
  const mine = await account({ events_days: 2 });
  await applyAll();
  await makeEvents(api.app, mine, [{ occurred_at: daysAgo(1.9) }, { occurred_at: daysAgo(1) }]);
  await relay(api.app);
  api.clock.advance(3 * 3_600_000);
  assert.deepEqual(await applyAll(), []);
  api.clock.advance(4 * 3_600_000);
  assert.deepEqual(await applyAll(), [1]);
  await set(mine, { events_days: 1 });
  assert.deepEqual(await applyAll(), [1]);
});

test("an account's backlog delays no other account, and concurrent workers delete everything once", async () => {
  const large = await account({ events_days: 1 });
  const small = await account({ events_days: 1 });
  await makeEvents(api.app, large, many(12_000, { occurred_at: daysAgo(5) }));
  await makeEvents(api.app, small, many(5, { occurred_at: daysAgo(5) }));
  while ((await rowsOf("events", large, "seq is null")) > 0) await relay(api.app);
  while ((await rowsOf("events", small, "seq is null")) > 0) await relay(api.app);
  assert.equal(await applyRetention(api.app, never), 10_005);
  assert.equal(await rowsOf("events", small), 0);
  assert.equal(await rowsOf("events", large), 2_000);
  const taken = await Promise.all([1, 2, 3].map(() => applyAll()));
  assert.equal(
    taken.flat().reduce((sum, rows) => sum + rows, 0) + (await rowsOf("events", large)),
    2_000,
  );
  await applyAll();
  assert.equal(await rowsOf("events", large), 0);
});

test("an account whose rows cannot be deleted in time delays no other account", async () => {
  const bad = await account({ events_days: 1 });
  const good = await account({ events_days: 1 });
  for (const owner of [bad, good]) {
    await makeEvents(api.app, owner, [{ occurred_at: daysAgo(5) }]);
    while ((await rowsOf("events", owner, "seq is null")) > 0) await relay(api.app);
  }
  await api.app.db.pool.query(`
    create function too_slow() returns trigger language plpgsql as $$
    begin raise 'canceling statement due to statement timeout' using errcode = '57014'; end $$;
    create trigger too_slow before delete on events for each row
      when (old.account_id = ${bad.account_id}) execute function too_slow()`);
  assert.equal(await applyRetention(api.app, never), 1);
  assert.equal(await rowsOf("events", good), 0);
  await api.app.db.pool.query("drop trigger too_slow on events");
  assert.deepEqual(await applyAll(), [1]);
});

/** A completed campaign with this many recipients, all read, with a reply from each of the first three. */
async function chatCampaign(owner: TestAccount, recipients: number): Promise<number> {
  const { app } = api;
  const { account_id } = owner;
  const number = await makeChatNumber(app, owner);
  const template_id = await makeChatTemplate(app, owner, number);
  const people = Array.from({ length: recipients }, (_, i) => ({
    phone: String(919_700_000_000 + i),
  }));
  const id = await makeChatCampaign(app, owner, number, template_id, people);
  await app.db.pool.query(
    `select count(*) from chat_move_recipients_json($1, 'inbound', (
       select json_agg(json_build_object('campaign_id', r.campaign_id, 'id', r.id, 'dispatches', 0,
         'state', 'read', 'provider_message_id', 'p' || r.id))
       from chat_recipients r where r.account_id = $1 and r.campaign_id = $2), $3)`,
    [account_id, id, app.clock.now()],
  );
  await app.db.pool.query(
    `insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text,
       campaign_id, recipient_id, opted_out, received_at)
     select account_id, $3, 'r' || id, phone, 'text', 'Yes', campaign_id, id, false, $4
     from chat_recipients where account_id = $1 and campaign_id = $2 order by id limit 3`,
    [account_id, id, number.id, app.clock.now()],
  );
  await app.db.pool.query("select count_chat_campaign($1, $2)", [account_id, id]);
  assert.equal(await completeChatCampaigns(app, account_id, [id]), 1);
  return id;
}

test("deletes recipients and replies after their campaign's retention period; the campaign and its counts stay", async () => {
  const mine = await account({ messages_days: 30 });
  const other = await account();
  await makeCredits(api.app, mine, { chat: 3_000 });
  const old = await chatCampaign(mine, 1_100);
  const theirs = await chatCampaign(other, 2);
  const path = `/api/v1/chat/campaigns/${old}`;
  const shown = await get(mine, path);
  assert.equal(shown.purged_at, null);
  assert.equal(shown.reply_count, 3);
  api.clock.advance(31 * day_ms);
  const { id: young } = { id: await chatCampaign(mine, 2) };
  await api.app.db.pool.query(
    `insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, opted_out, received_at)
     values ($1, 1, 'unassigned', '919700000009', 'text', false, $2), ($1, 1, 'new', '919700000009', 'text', false, $3)`,
    [mine.account_id, daysAgo(31), daysAgo(29)],
  );
  assert.deepEqual(await applyAll(), [1_000, 104]);
  assert.equal(await rowsOf("chat_recipients", mine), 2);
  assert.equal(await rowsOf("chat_recipients", mine, `campaign_id = ${young}`), 2);
  assert.equal(await rowsOf("chat_replies", mine), 3);
  const { purged_at, ...left } = await get(mine, path);
  assert.equal(purged_at, api.clock.now().toISOString());
  assert.deepEqual({ ...left, purged_at: null }, shown);
  assert.deepEqual((await get(mine, `${path}/recipients`)).data, []);
  assert.equal((await get(other, `/api/v1/chat/campaigns/${theirs}`)).purged_at, null);
  assert.equal(await rowsOf("chat_recipients", other), 2);
  await checkCampaigns(api.app.db.pool);
  await checkLedger(api.app.db.pool);
});

test("a backlog of calls is deleted from where the last batch ended, and a call that was skipped is deleted later", async () => {
  const mine = await account({ calls_days: 30 });
  const at = api.clock.now();
  const call = (minutes: number, more = {}) =>
    makeCall(api.app, mine, {
      call: { ...failed, ended_at: new Date(at.getTime() + minutes * 60_000), ...more },
    });
  const recorded = await call(0, { recording_state: "ready" });
  for (let i = 1; i <= 150; i++) await call(i);
  api.clock.advance(31 * day_ms);
  assert.equal(await applyRetention(api.app, never), 100);
  const positions = `select setting, at from retention_positions where account_id = ${mine.account_id}`;
  const { rows } = await api.app.db.pool.query(positions);
  assert.deepEqual(rows, [{ setting: "calls", at: new Date(at.getTime() + 100 * 60_000) }]);
  await api.app.db.pool.query(
    "update calls set recording_state = 'deleted' where account_id = $1 and id = $2",
    [mine.account_id, recorded.id],
  );
  assert.deepEqual(await applyAll(), [50]);
  assert.deepEqual((await api.app.db.pool.query(positions)).rows, []);
  api.clock.advance(7 * 3_600_000);
  assert.deepEqual(await applyAll(), [1]);
  assert.equal(await rowsOf("calls", mine), 0);
});

test("deletes unread webhooks with the messages' retention period, in small steps", async () => {
  const mine = await account({ messages_days: 30 });
  const other = await account();
  for (const [{ account_id }, rows, days] of [
    [mine, 1_500, 31],
    [mine, 2, 29],
    [other, 1, 31],
  ] as const)
    await api.app.db.pool.query(
      `insert into chat_unread_webhooks (account_id, chat_number_id, driver, body, reason, received_at)
       select $1, 1, 'meta', '{}', 'of unknown shape', $3 from generate_series(1, $2)`,
      [account_id, rows, daysAgo(days)],
    );
  assert.deepEqual(await applyAll(), [1_000, 500]);
  assert.equal(await rowsOf("chat_unread_webhooks", mine), 2);
  assert.equal(await rowsOf("chat_unread_webhooks", other), 1);
});

test("deletes calls with their records, and voice campaigns' recipients; the campaigns keep their counts", async () => {
  const mine = await account({ calls_days: 30 });
  const at = api.clock.now();
  const ended = { ...failed, ended_at: at };
  // A click-to-call of two attempts, of which the second has not expired, and one that has expired.
  const tried = await makeCall(api.app, mine, { call: ended, legs: [{}] });
  const gone = await makeCall(api.app, mine, { call: ended, legs: [{}, { role: "customer" }] });
  const queued = await makeCall(api.app, mine);
  const campaign = await makeVoiceCampaign(api.app, mine, {
    campaign: { state: "completed", finished_at: at, rejected: 1 },
    recipients: [
      { state: "answered", finished_at: at },
      { state: "busy", finished_at: at },
    ],
  });
  const talked = await makeVoiceCall(api.app, mine, campaign, {
    steps: [{ node: "start", key: "1" }],
    said: [{ who: "caller", text: "Hello" }],
  });
  const { pool } = api.app.db;
  await pool.query("insert into voice_rejects values ($1, $2, 1, 'none', 'not a number')", [
    mine.account_id,
    campaign.id,
  ]);
  await pool.query(
    `insert into call_events (account_id, call_id, type, at, data)
     select $1, i, 'call.completed', $3, '{}' from unnest($2::bigint[]) i`,
    [mine.account_id, [gone.id, talked], at],
  );
  const path = `/api/v1/voice/campaigns/${campaign.id}`;
  const shown = await get(mine, path);
  api.clock.advance(31 * day_ms);
  await pool.query(
    `insert into calls (account_id, campaign_id, attempt, node_id, trunk_id, stage, status, from_number,
       to_number, to_phone, due_at, queued_at, ended_at)
     select account_id, campaign_id, 2, node_id, trunk_id, stage, status, from_number, to_number, to_phone,
       $3, $3, $3 from calls where account_id = $1 and id = $2`,
    [mine.account_id, tried.id, daysAgo(1)],
  );
  assert.deepEqual(await applyAll(), [5]);
  assert.equal(await rowsOf("calls", mine), 3);
  assert.equal(await rowsOf("calls", mine, `id in (${tried.id}, ${queued.id})`), 2);
  assert.equal(await rowsOf("call_campaigns", mine), 3);
  assert.equal(await rowsOf("click_to_calls", mine), 2);
  assert.equal(await rowsOf("call_legs", mine, `call_id <> ${tried.id}`), 0);
  for (const table of [
    "call_events",
    "call_menu_steps",
    "call_transcripts",
    "voice_recipients",
    "voice_rejects",
  ])
    assert.equal(await rowsOf(table, mine), 0, table);
  const { purged_at, ...left } = await get(mine, path);
  assert.equal(purged_at, api.clock.now().toISOString());
  assert.deepEqual({ ...left, purged_at: null }, shown);
  await checkVoiceCampaigns(pool);
  await checkLedger(pool);
});

test("counts that no cap looks at any more are deleted in one go, without reading the others", async () => {
  const mine = await account();
  const { pool } = api.app.db;
  const count = (subject: string, hour: Date, rows: number) =>
    pool.query(
      `insert into call_usage (account_id, subject, hour, slot, legs)
       select $1, 'number:' || $2::text || n, date_trunc('hour', $3::timestamptz), 0, 1 from generate_series(1, $4::int) n`,
      [mine.account_id, subject, hour, rows],
    );
  await count("1", daysAgo(2), 2_300);
  await count("2", api.clock.now(), 5_000);
  await pool.query("analyze call_usage");
  assert.deepEqual(await applyAll(), [1_000, 1_000, 300]);
  assert.equal(await rowsOf("call_usage", mine), 5_000);
  api.clock.advance(8 * 3_600_000);
  await count("3", daysAgo(2), 100);
  await pool.query("vacuum analyze call_usage");
  const read = await rowsRead(api.app, async ({ db, clock }) => {
    const { rows } = await sql<{ purged: number }>`
      select * from apply_retention(${mine.account_id}, 'call_usage', 1000, ${clock.now()})
    `.execute(db.query);
    assert.equal(rows[0]!.purged, 100);
  });
  assert.ok(read < 500, `read ${read} rows`);
  // Tests after this one set the clock forward.
  await pool.query("truncate call_usage");
});

test("deletes a recording by its own retention period or with its call, and retries a silent node without delaying others", async () => {
  const place = async () => {
    const node_id = await makeNode(api.app, { connected: true });
    return { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  };
  const [good, bad] = [await place(), await place()];
  silent.add(bad.node_id);
  const mine = await account({ recordings_days: 5, calls_days: 9 });
  const other = await account();
  const recorded = { ...failed, ended_at: api.clock.now(), recording_state: "ready" };
  // A failed recording may exist in part.
  const broken = await makeCall(api.app, mine, {
    call: { ...recorded, recording_state: "failed" },
    place: good,
  });
  const [here, there] = [
    await makeCall(api.app, mine, { call: recorded, place: good }),
    await makeCall(api.app, mine, { call: recorded, place: bad }),
  ];
  const theirs = await makeCall(api.app, other, { call: recorded, place: good });
  const campaign = await makeVoiceCampaign(api.app, mine, {
    campaign: { trunk_id: good.trunk_id },
    recipients: [{ state: "answered" }],
  });
  const left = await makeVoiceCall(api.app, mine, campaign, {
    messages: [{ recording: unique("message"), node: "box", state: "ready" }],
  });
  const recording = (id: number, path = "recording") =>
    api.send("GET", `/api/v1/calls/${id}/${path}`, { token: mine.token });

  api.clock.advance(4 * day_ms);
  assert.deepEqual(await applyAll(purgeRecordings), []);
  api.clock.advance(2 * day_ms);
  deleted.length = 0;
  assert.equal(await purgeRecordings(api.app, AbortSignal.abort()), 0);
  assert.deepEqual(await applyAll(purgeRecordings), [3]);
  assert.equal(deleted.length, 3);
  for (const { id } of [here, broken]) assert.ok(deleted.includes(`trk-${mine.account_id}-${id}`));
  assert.equal((await recording(here.id)).status, 404);
  assert.equal((await recording(left, "messages/1")).status, 404);
  const report = await get(mine, `/api/v1/calls/${left}`);
  assert.deepEqual(report.messages, [{ node: "box", recording_url: null, state: "deleted" }]);
  assert.equal((await get(mine, `/api/v1/calls/${here.id}`)).recording_url, null);
  assert.notEqual((await get(mine, `/api/v1/calls/${there.id}`)).recording_url, null);
  assert.notEqual((await get(other, `/api/v1/calls/${theirs.id}`)).recording_url, null);

  // A call is kept until its recording is deleted; other calls do not wait.
  api.clock.advance(4 * day_ms);
  assert.deepEqual(await applyAll(purgeRecordings), []);
  assert.deepEqual(await applyAll(), [3]);
  assert.equal(await rowsOf("calls", mine), 1);
  silent.delete(bad.node_id);
  api.clock.advance(11 * 60_000);
  assert.deepEqual(await applyAll(purgeRecordings), [1]);
  api.clock.advance(8 * 3_600_000);
  assert.deepEqual(await applyAll(), [1]);
  assert.equal(await rowsOf("calls", mine), 0);
  assert.equal(await rowsOf("calls", other), 1);
});

test("a silent node's recordings are read once, however many they are, and do not keep those of other nodes", async (t) => {
  const db = openDatabase(api.database_url, api.app.log);
  t.after(() => db.close());
  const watch = openStatementsRead(db.pool);
  const app = { ...api.app, db };
  /** Deletes what is due; returns the number of rows of each iteration and the most that a statement read. */
  const purge = async () => {
    const { answer, statements } = await watch(() => applyAll(() => purgeRecordings(app, never)));
    return { batches: answer, most: Math.max(...statements.map(({ read }) => read)) };
  };
  const makeDue = () =>
    pool.query("update accounts set recordings_due_at = $2 where account_id = $1", [
      mine.account_id,
      api.clock.now(),
    ]);
  const place = async () => {
    const node_id = await makeNode(api.app, { connected: true });
    return { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  };
  const [good, bad] = [await place(), await place()];
  silent.add(bad.node_id);
  const mine = await account({ recordings_days: 5 });
  const call = { ...failed, ended_at: daysAgo(8), recording_state: "ready" };
  const first = await makeCall(api.app, mine, { call, place: bad });
  const backlog = 5_000;
  const { pool } = api.app.db;
  await pool.query(
    `insert into calls (account_id, campaign_id, attempt, node_id, trunk_id, from_number, to_number, to_phone, due_at,
       queued_at, stage, status, disposition, ended_reason, ended_by, ended_at, recording_state)
     select account_id, campaign_id, 1 + n, node_id, trunk_id, from_number, to_number, to_phone, due_at,
       queued_at, stage, status, disposition, ended_reason, ended_by, ended_at, recording_state
     from calls, generate_series(1, $3::int) n where account_id = $1 and id = $2`,
    [mine.account_id, first.id, backlog],
  );
  await pool.query("analyze calls");
  const later = async () =>
    makeCall(api.app, mine, { call: { ...call, ended_at: daysAgo(7) }, place: good });
  for (let i = 0; i < 150; i++) await later();
  deleted.length = 0;
  assert.deepEqual((await purge()).batches, []);
  assert.deepEqual((await purge()).batches, [100, 50]);
  assert.equal(deleted.length, 150);

  // Those that expire meanwhile are found without reading the backlog again.
  await later();
  await makeDue();
  const next = await purge();
  assert.deepEqual(next.batches, [1]);
  assert.ok(next.most < backlog / 2, `read ${next.most} rows`);

  // Once the node responds again, it deletes all.
  silent.clear();
  api.clock.advance(11 * 60_000);
  const all = await purge();
  assert.equal(
    all.batches.reduce((sum, rows) => sum + rows, 0),
    backlog + 1,
  );
});

test("a recording that its node refuses to delete delays no other recording, and is tried again a day later", async () => {
  const node_id = await makeNode(api.app, { connected: true });
  const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  const [mine, other] = [
    await account({ recordings_days: 5 }),
    await account({ recordings_days: 5 }),
  ];
  const record = async (owner: TestAccount, days: number) => {
    const call = { ...failed, ended_at: daysAgo(days), recording_state: "ready" };
    const { id } = await makeCall(api.app, owner, { call, place });
    return `trk-${owner.account_id}-${id}`;
  };
  const kept = await record(mine, 8);
  const later = [await record(mine, 7), await record(other, 6)];
  refused.add(kept);
  deleted.length = 0;
  assert.deepEqual(await applyAll(purgeRecordings), [2]);
  assert.deepEqual(deleted.toSorted(), later.toSorted());

  // A node that refuses ten and deletes none is skipped for ten minutes. They delay no other recording then.
  for (let i = 0; i < 10; i++) refused.add(await record(mine, 8));
  later.push(await record(mine, 7));
  api.clock.advance(8 * 3_600_000);
  assert.deepEqual(await applyAll(purgeRecordings), []);
  api.clock.advance(11 * 60_000);
  assert.deepEqual(await applyAll(purgeRecordings), [1]);
  assert.deepEqual(deleted.toSorted(), later.toSorted());

  refused.clear();
  api.clock.advance(32 * 3_600_000);
  assert.deepEqual(await applyAll(purgeRecordings), [11]);
  assert.ok(deleted.includes(kept));
});

test("the age of the retention backlog includes recordings whose node is down or refuses to delete them", async () => {
  const node_id = await makeNode(api.app, { connected: true });
  const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  const mine = await account({ recordings_days: 5 });
  const readBacklog = async () => {
    // All that is due is done, so that nothing else is overdue.
    await applyAll();
    await applyAll(purgeRecordings);
    const metrics = openMetrics();
    await openInstallationGauges(api.app, metrics)();
    const text = await metrics.registry.metrics();
    return Number(/^trunkline_backlog_seconds\{work="retention"\} (\S+)$/m.exec(text)![1]);
  };
  for (const failure of ["silent", "refused"]) {
    const call = { ...failed, ended_at: daysAgo(4), recording_state: "ready" };
    const { id } = await makeCall(api.app, mine, { call, place });
    assert.equal(await readBacklog(), 0);
    if (failure === "silent") silent.add(node_id);
    else refused.add(`trk-${mine.account_id}-${id}`);
    for (const days of [1.5, 2.5]) {
      api.clock.advance((days === 1.5 ? 2.5 : 1) * day_ms);
      assert.equal(await readBacklog(), days * 86_400, failure);
    }
    silent.clear();
    refused.clear();
    api.clock.advance(2 * day_ms);
    assert.equal(await readBacklog(), 0);
  }
});

test("deletes expired idempotency keys in small steps, and keeps newer ones, those of chat campaigns and other accounts'", async () => {
  const mine = await account({ idempotency_keys_days: 10 });
  const other = await account();
  for (const { account_id } of [mine, other]) {
    await api.app.db.pool.query(
      `insert into idempotency_keys (account_id, endpoint, key, request_sha256, status, response, created_at)
       select $1, e, e || n, '', 201, '{}', case when n <= 1100 then $2::timestamptz else $3 end
       from unnest(array['createLead', 'createChatCampaign', 'createChatCampaignFromCsv']) e,
         generate_series(1, 1200) n`,
      [account_id, daysAgo(11), daysAgo(9)],
    );
  }
  const keysBefore = await rowsOf("idempotency_keys", mine);
  assert.deepEqual(await applyAll(), [1_000, 100]);
  assert.equal(await rowsOf("idempotency_keys", mine), keysBefore - 1_100);
  assert.equal(await rowsOf("idempotency_keys", mine, "endpoint like 'createChat%'"), 2_400);
  assert.equal(await rowsOf("idempotency_keys", other), keysBefore);
});

test("a write under a purged idempotency key is a new request", async () => {
  const mine = await account({ idempotency_keys_days: 10 });
  const create = () =>
    api.send("POST", `/api/v1/crm/workspaces/${mine.workspace_id}/leads/create`, {
      token: mine.token,
      headers: { "idempotency-key": "one" },
      json: { phone: "9876543210" },
    });
  const first = await create();
  assert.equal((await create()).body.id, first.body.id);
  api.clock.advance(11 * day_ms);
  assert.deepEqual(await applyAll(), [1]);
  assert.notEqual((await create()).body.id, first.body.id);
});

test("deletes expired entries of the audit trail in small steps, and keeps newer ones and other accounts'", async () => {
  const mine = await account({ audit_days: 400 });
  const other = await account();
  for (const { account_id } of [mine, other]) {
    await api.app.db.pool.query("delete from audit_entries where account_id = $1", [account_id]);
    for (const days of [401, 399]) {
      await api.app.db.pool.query(
        `insert into audit_entries (account_id, at, request_id, action)
         select $1, $2, 'req', 'lead.updated' from generate_series(1, 1100)`,
        [account_id, daysAgo(days)],
      );
    }
  }
  assert.deepEqual(await applyAll(), [1_000, 100]);
  assert.equal(await rowsOf("audit_entries", mine), 1_100);
  assert.equal(await rowsOf("audit_entries", other), 2_200);
});

test("deletes sessions a week after they expired, in small steps, and keeps newer ones and other tokens", async () => {
  const mine = await account();
  const make = (kind: string, days: number, count: number) =>
    api.app.db.pool.query(
      `insert into tokens (account_id, kind, user_id, name, secret_sha256, expires_at, created_by, created_at)
       select $1, $2, $3, 'Console', '', $4, $3, $4 from generate_series(1, $5)`,
      [mine.account_id, kind, mine.owner_id, daysAgo(days), count],
    );
  await make("session", 8, 1_100);
  await make("session", 6, 2);
  await make("agent", 8, 3);
  const kept = async () => [
    await rowsOf("tokens", mine, "kind = 'session'"),
    await rowsOf("tokens", mine, "kind = 'agent'"),
  ];
  assert.deepEqual(await applyAll(), [1_000, 100]);
  assert.deepEqual(await kept(), [2, 3]);
  api.clock.advance(2 * day_ms);
  assert.deepEqual(await applyAll(), [2]);
  assert.deepEqual(await kept(), [0, 3]);
});

test("deletes invitations 30 days after they expired, in small steps, and keeps newer ones and other accounts'", async () => {
  const [mine, other] = [await account(), await account()];
  const make = (of: TestAccount, days: number, count: number) =>
    api.app.db.pool.query(
      `insert into invitations (account_id, email, secret_sha256, expires_at, created_at)
       select $1, 'old-' || $2::int || '-' || n || '@test.example', '', $3, $3 from generate_series(1, $4) n`,
      [of.account_id, days, daysAgo(days), count],
    );
  await make(mine, 31, 1_100);
  await make(mine, 29, 2);
  await make(mine, -1, 1);
  await make(other, 29, 1);
  assert.deepEqual(await applyAll(), [1_000, 100]);
  assert.deepEqual([await rowsOf("invitations", mine), await rowsOf("invitations", other)], [3, 1]);
  api.clock.advance(2 * day_ms);
  assert.deepEqual(await applyAll(), [3]);
  assert.deepEqual([await rowsOf("invitations", mine), await rowsOf("invitations", other)], [1, 0]);
});

test("an invitation that is sent again while expired ones are deleted is kept", async () => {
  const mine = await account();
  const { pool } = api.app.db;
  await pool.query(
    `insert into invitations (account_id, email, secret_sha256, expires_at, created_at)
     values ($1, 'again@test.example', '', $2, $2)`,
    [mine.account_id, daysAgo(31)],
  );
  const sender = await pool.connect();
  try {
    await sender.query("begin");
    await sender.query("update invitations set expires_at = $2 where account_id = $1", [
      mine.account_id,
      daysAgo(-3),
    ]);
    const applied = applyRetention(api.app, never);
    await awaitsLock(api.app.db.query);
    await sender.query("commit");
    assert.equal(await applied, 0);
    assert.equal(await rowsOf("invitations", mine), 1);
  } finally {
    sender.release(true);
  }
});

test("deletes sign-in links that were used or have expired, in small steps, and keeps open ones", async () => {
  const mine = await account();
  const make = (expires_at: Date, used_at: Date | null, count: number) =>
    api.app.db.pool.query(
      `insert into sign_in_links (account_id, user_id, secret_sha256, expires_at, used_at, origin, created_at)
       select $1, $2, '', $3, $4, 'reset', $3 from generate_series(1, $5)`,
      [mine.account_id, mine.owner_id, expires_at, used_at, count],
    );
  await make(daysAgo(1), null, 1_100);
  await make(daysAgo(-1), api.clock.now(), 3);
  await make(daysAgo(-1), null, 2);
  assert.deepEqual(await applyAll(), [1_000, 103]);
  assert.equal(await rowsOf("sign_in_links", mine, "used_at is null"), 2);
  assert.equal(await rowsOf("sign_in_links", mine), 2);
});

test("keeps the audit entries of freezes and moves, deletes those between them, and does not read kept ones again", async () => {
  const mine = await account({ audit_days: 400 });
  const { account_id } = mine;
  const { pool } = api.app.db;
  await pool.query("delete from audit_entries where account_id = $1", [account_id]);
  const kept = ["account.frozen", "account.exported", "account.imported"];
  // More kept ones in a row than a batch has.
  for (const [action, n] of [...kept.map((a) => [a, 600]), ["lead.updated", 1_100]])
    await pool.query(
      `insert into audit_entries (account_id, at, request_id, action)
       select $1, $2, 'req', $3 from generate_series(1, $4)`,
      [account_id, daysAgo(401), action, n],
    );
  const batches: number[] = [];
  for (let i = 0; i < 4; i++) batches.push(await applyRetention(api.app, never));
  assert.deepEqual(batches, [0, 200, 900, 0]);
  const { rows } = await pool.query(
    "select action, count(*)::int as n from audit_entries where account_id = $1 group by 1 order by 1",
    [account_id],
  );
  assert.deepEqual(
    rows,
    kept.toSorted().map((action) => ({ action, n: 600 })),
  );
  const due = "retention_due_at > $1";
  const later = await pool.query(`select from accounts where account_id = $2 and ${due}`, [
    api.clock.now(),
    account_id,
  ]);
  assert.equal(later.rows.length, 1, "the account is not due at once");
});

/** Reserves call credit, captures all but one of it one by one, and releases that. */
async function spendCall({ account_id }: TestAccount, amount: number): Promise<void> {
  const { db, clock } = api.app;
  const now = clock.now();
  await db.query.transaction().execute(async (tx) => {
    const subject = unique("call");
    const id = await reserveCredits(tx, { account_id, kind: "call", subject, amount }, now);
    await sql`select settle_credits(${account_id}, ${id}, 1, 0, 0, ${now})
      from generate_series(1, ${amount - 1}::int)`.execute(tx);
    await sql`select settle_credits(${account_id}, ${id}, 0, 1, 0, ${now})`.execute(tx);
    await closeReservation(tx, account_id, id, now);
  });
}

const spendMessage = ({ account_id }: TestAccount) =>
  api.app.db.query
    .transaction()
    .execute((tx) =>
      spendCredit(
        tx,
        { account_id, kind: "chat", subject: unique("chat_message") },
        api.clock.now(),
      ),
    );

/** The sum of each day of the account, kind and type. */
async function ledgerDays({ account_id }: TestAccount): Promise<unknown> {
  const { rows } = await api.app.db.pool.query(
    `select kind, type, date_trunc('day', at, 'Asia/Kolkata') as day, sum(amount)::int as amount
     from credit_transfers where account_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
    [account_id],
  );
  return rows;
}

test("folds the ledger by day, in small steps: balance, sums of days and campaigns' credit stay exact", async () => {
  const mine = await account({ ledger_days: 365 });
  const other = await account();
  const { account_id } = mine;
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "Asia/Kolkata" })
    .where("account_id", "=", account_id)
    .execute();
  await makeCredits(api.app, mine, { chat: 100, call: 2_000 });
  const campaign = await chatCampaign(mine, 5);
  await spendCall(mine, 1_200);
  await spendMessage(mine);
  await spendMessage(other);
  api.clock.advance(day_ms);
  await spendCall(mine, 3);
  const open = await api.app.db.query
    .transaction()
    .execute((tx) =>
      reserveCredits(
        tx,
        { account_id, kind: "call", subject: unique("call"), amount: 7 },
        api.clock.now(),
      ),
    );
  api.clock.advance(366 * day_ms);
  await spendCall(mine, 4);
  const path = `/api/v1/chat/campaigns/${campaign}`;
  const read = async () => [
    await get(mine, "/api/v1/credits"),
    await get(mine, path),
    await ledgerDays(mine),
  ];
  const before_fold = await read();
  const grants = await rowsOf("credit_transfers", mine, "type = 'grant'");

  assert.deepEqual(await applyAll(), [1_000, 209]);
  assert.deepEqual(await read(), before_fold);
  const old = `type <> 'grant' and at < '${daysAgo(1).toISOString()}'`;
  // Of chat: reserve and capture; of calls on two days: reserve, capture and release; the open reservation.
  assert.equal(await rowsOf("credit_transfers", mine, old), 2 + 2 * 3 + 1);
  assert.equal(await rowsOf("credit_transfers", mine, "type = 'grant'"), grants);
  const { rows } = await api.app.db.pool.query<{ id: number; subject: string; folded: boolean }>(
    `select id, subject, folded_at is not null as folded from credit_reservations
     where account_id = $1 order by id`,
    [account_id],
  );
  assert.deepEqual(
    rows.map(({ id, folded }) => [folded, id === open]),
    [
      [true, false],
      [false, true],
      [false, false],
    ],
  );
  assert.equal(await rowsOf("credit_transfers", other, "reservation_id is not null"), 2);
  await checkLedger(api.app.db.pool);
  await checkCampaigns(api.app.db.pool);

  // A retry reopens the campaign's reservation.
  const now = api.clock.now();
  await api.app.db.query
    .transaction()
    .execute((tx) => extendReservation(tx, { account_id, id: rows[0]!.id, amount: 2 }, now));
  const { chat } = await get(mine, "/api/v1/credits");
  assert.equal(chat.reserved, 2);
  await assert.rejects(
    api.app.db.query
      .transaction()
      .execute((tx) => closeReservation(tx, account_id, rows[0]!.id, now)),
    /still has credit/,
  );
  await api.app.db.pool.query("select settle_credits($1, $2, 0, 2, 0, $3)", [
    account_id,
    rows[0]!.id,
    now,
  ]);
  await api.app.db.query
    .transaction()
    .execute((tx) => closeReservation(tx, account_id, rows[0]!.id, now));
  await checkLedger(api.app.db.pool);
});
