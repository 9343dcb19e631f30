// What a worker asks of its database when nothing is due, and that it finds everything that is.
import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import pg from "pg";
import { makeAccount, makeCredits, type TestAccount } from "./support/account-factory.ts";
import { startApi, type TestApi } from "./support/api.ts";
import { makeEndpoint, makeEvents } from "./support/callback-factory.ts";
import { openCallbackReceiver } from "./support/callback-receiver.ts";
import { makeChatCampaign, makeChatNumber, makeChatTemplate } from "./support/chat-factory.ts";
import { eventually } from "./support/eventually.ts";
import { sandboxStub } from "./support/sandbox-stub.ts";
import { makeCallingAccount, makeSandboxTrunk } from "./support/telephony-factory.ts";
import { makeVoiceCampaign } from "./support/voice-factory.ts";
import { openSandboxVoiceDriver } from "../server/drivers/voice/sandbox/open-sandbox-driver.ts";
import { addJob, job_kinds } from "../server/engine/add-job.ts";
import { dueNumbers, urgentNumbers } from "../server/chat/inbound/apply/inbox.ts";
import { completeVoiceCampaigns } from "../server/voice/campaigns/complete-voice-campaigns.ts";
import { synthesizeScripts } from "../server/voice/campaigns/synthesize-scripts.ts";
import { startWorker, type BackgroundWork } from "../server/worker.ts";

/** The target for one process: docs/decisions/2026-11-25-one-poll-for-all-loops.md. */
const statements_a_second = 10;

const voice = openSandboxVoiceDriver({ pace: 100 });
let api: TestApi;
let work: BackgroundWork;
let account: TestAccount;
let importer: TestAccount;
let trunk_id: number;
let query: ReturnType<typeof recordStatements>;

/** Before the connections open, which keep the function that they found. */
const recordStatements = () => mock.method(pg.Client.prototype, "query");

before(async () => {
  query = recordStatements();
  api = await startApi({ chatDrivers: { sandbox: sandboxStub }, voiceDrivers: { sandbox: voice } });
  account = await makeCallingAccount(api.app);
  importer = await makeAccount(api.app);
  ({ trunk_id } = await makeSandboxTrunk(api.app, account));
  await api.app.db.pool.query(
    `update accounts set retention_due_at = now() + interval '1 hour',
       recordings_due_at = now() + interval '1 hour', report_due_at = now() + interval '1 hour',
       features = '{crm,bulk_chat,voice,calls}'`,
  );
  // Notifications never arrive, so that only polls find work.
  const silent = { send: () => {}, on: () => {}, close: async () => {} };
  work = startWorker({ ...api.app, notifications: silent });
});
after(async () => {
  await work.stop();
  await voice.close();
  await api.close();
  mock.restoreAll();
});

async function count(text: string): Promise<number> {
  const { rows } = await api.app.db.pool.query<{ count: number }>(`select count(*)::int ${text}`);
  return rows[0]!.count;
}

test("an idle worker that leads a voice node asks its database ten statements a second at most", async () => {
  await eventually(
    async () => (await count("from voice_nodes where connected_at > created_at")) === 1,
  );
  query.mock.resetCalls();
  const began = performance.now();
  const polls = () =>
    query.mock.calls.filter(({ arguments: [sent] }) => JSON.stringify(sent).includes("chat_inbox"));
  await eventually(() => polls().length === 5);
  const seconds = (performance.now() - began) / 1_000;
  const statements = query.mock.callCount();
  // A slow machine makes fewer statements a second.
  assert.ok(
    statements <= statements_a_second * (seconds + 1),
    `${statements} statements in ${seconds} s`,
  );
});

test("what waits in a frozen account keeps no worker busy", async (t) => {
  const { app } = api;
  const frozen = await makeAccount(app);
  const { account_id } = frozen;
  await app.db.pool.query("update accounts set frozen_at = now() where account_id = $1", [
    account_id,
  ]);
  await makeCredits(app, frozen, { chat: 1 });
  const number = await makeChatNumber(app, frozen);
  const template = await makeChatTemplate(app, frozen, number);
  await makeChatCampaign(app, frozen, number, template, [{ phone: "919800000001" }]);
  await makeEndpoint(app, frozen, { url: "http://127.0.0.1:9/", types: ["lead.updated"] });
  const now = app.clock.now();
  for (const text of [
    "update callback_endpoints set work_at = $2 where account_id = $1",
    `insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
     values ($1, ${number.id}, 'sandbox', '[{}]', $2, '-infinity')`,
    `insert into leases (account_id, name, holder, fence, expires_at)
     values ($1, 'chat_sender:${number.id}', gen_random_uuid(), 1, $2::timestamptz - interval '1 s')`,
    `insert into lead_imports (account_id, workspace_id, created_by, file_name, column_map, header, state, total_rows,
       created_at)
     values ($1, ${frozen.workspace_id}, ${frozen.owner_id}, 'leads.csv', '{}', '{phone}', 'processing', 1, $2)`,
  ])
    await app.db.pool.query(text, [account_id, now]);
  await makeVoiceCampaign(app, frozen, {
    campaign: { call_type: "obd_smartvoice", trunk_id },
    recipients: [{ state: "synthesizing", variables: '{"name":"Ann"}' }],
  });
  await makeVoiceCampaign(app, frozen, {
    campaign: { trunk_id, state: "cancelled" },
    recipients: [],
  });
  for (const kind of job_kinds)
    await addJob(app.db.query, { account_id, kind, subject: "0", run_at: now }, now);
  const texts = query.mock.calls.map(({ arguments: [sent] }) => (sent as { text?: string }).text);
  const polls = [...new Set(texts)].filter((text) => text?.startsWith("(select 0 as place "));
  assert.ok(polls.length > 0);
  const client = await app.db.pool.connect();
  t.after(() => client.release());
  const found = async () => {
    const places: unknown[] = [];
    for (const text of polls) places.push(...(await client.query(text!, [now])).rows);
    return places.length;
  };
  // The worker relays the events first.
  await eventually(async () => (await found()) === 0);
  // Nor does a loop that other work has woken find any of it.
  const going = new AbortController().signal;
  const synthesize = t.mock.method(app.speech, "synthesize");
  assert.equal(await synthesizeScripts(app, going), 0);
  assert.equal(synthesize.mock.callCount(), 0);
  assert.equal(await completeVoiceCampaigns(app), 0);
  assert.deepEqual([await dueNumbers(app), await urgentNumbers(app)], [[], []]);
  await client.query("begin");
  await client.query("update accounts set frozen_at = null where account_id = $1", [account_id]);
  // The sender's number twice, for its campaign and its lease.
  assert.equal(await found(), job_kinds.length + 7, "all of it is due");
  await client.query("rollback");
  for (const table of ["jobs", "chat_inbox", "leases", "chat_campaigns", "callback_endpoints"])
    await app.db.pool.query(`delete from ${table} where account_id = $1`, [account_id]);
});

test("a worker finds every kind of work although no notification arrives", async (t) => {
  const { app } = api;
  const { account_id } = account;
  await makeCredits(app, account, { chat: 10 });
  const receiver = await openCallbackReceiver();
  t.after(() => receiver.close());
  await makeEndpoint(app, account, { url: receiver.url, types: ["lead.updated"] });
  await makeEvents(app, account, [{ type: "lead.updated" }]);
  const number = await makeChatNumber(app, account);
  const template = await makeChatTemplate(app, account, number);
  await makeChatCampaign(app, account, number, template, [{ phone: "919800000001" }]);
  await app.db.pool.query(
    `insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
     values ($1, $2, 'sandbox', '[{}]', now(), now())`,
    [account_id, number.id],
  );
  const scripted = {
    campaign: { call_type: "obd_smartvoice", trunk_id },
    recipients: [{ state: "synthesizing", variables: '{"name":"Ann"}' }],
  } as const;
  await makeVoiceCampaign(app, account, scripted);
  const now = app.clock.now();
  for (const kind of job_kinds)
    await addJob(app.db.query, { account_id, kind, subject: "0", run_at: now }, now);
  const raw = new FormData();
  raw.set("columnMap", '{"phone":"phone"}');
  raw.set("file", new Blob(["phone\n9876543211\n"]), "leads.csv");
  const path = `/api/v1/crm/workspaces/${importer.workspace_id}/leads/import`;
  const uploaded = await api.send("POST", path, { token: importer.token, raw });
  assert.equal(uploaded.status, 202, uploaded.text);

  await eventually(() => receiver.received.length === 1);
  const done = [
    "from chat_campaigns where state = 'completed'",
    "from voice_campaigns where state = 'completed'",
    "from lead_imports where state = 'completed'",
    "from calls where stage = 'ended'",
  ];
  for (const text of done) await eventually(async () => (await count(text)) === 1);
  await eventually(async () => (await count("from chat_inbox")) === 0);
  await eventually(async () => (await count("from jobs where fence = 0")) === 0);
});
