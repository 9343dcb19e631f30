// After an erasure only the suppressions and anonymous counts remain.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeEndpoint, relay } from "../../test/support/callback-factory.ts";
import { rowsRead } from "../../test/support/rows-read.ts";
import {
  makeNode,
  makeSandboxTrunk,
  makeTrunk,
  setCalling,
} from "../../test/support/telephony-factory.ts";
import { failed, makeCall } from "../../test/support/call-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../test/support/chat-factory.ts";
import {
  checkCampaigns,
  checkLedger,
  checkVoiceCampaigns,
} from "../../test/support/check-invariants.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { voiceSandboxStub } from "../../test/support/sandbox-stub.ts";
import { fillPerson } from "../../test/support/fill-person.ts";
import { known_columns, personal_columns } from "../../test/support/identity-columns.ts";
import { identityTraces, textColumns } from "../../test/support/identity-traces.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { isSuppressed, messageOutreach } from "../audience/suppressions/suppressions.ts";
import { completeChatCampaigns } from "../chat/campaigns/complete-chat-campaigns.ts";
import { VoiceError } from "../drivers/voice/driver.ts";
import { workJobs } from "../engine/work-jobs.ts";
import type { Tx } from "../lib/database/database.ts";
import { phoneSpellings } from "../lib/phone-key.ts";
import { erasePerson } from "./erase-person.ts";
import { eraseCalls } from "./erase/calls.ts";
import { first_progress, type Part, type StepContext } from "./erase/part.ts";
import { readPerson } from "./erase/person.ts";
import { eraseImportRejects, eraseImportRows, eraseVoiceRejects } from "./erase/uploads.ts";

const number = "9876543210";
const phone = `91${number}`;

const tenantTables = Object.entries(
  JSON.parse(
    readFileSync(new URL("../../migrations/tables.json", import.meta.url), "utf8"),
  ) as Record<string, string>,
)
  .filter(([, kind]) => kind === "tenant")
  .map(([table]) => table);

let api: TestApi;
let is_silent = false;
const deleted: string[] = [];
/** The recordings that their nodes refuse to delete. */
const refused = new Set<string>();

before(async () => {
  const sandbox: typeof voiceSandboxStub = {
    ...voiceSandboxStub,
    async deleteRecording(_node, recording) {
      if (is_silent) throw new VoiceError("unreachable", "it is down");
      if (refused.has(recording)) throw new VoiceError("refused", "it is read-only");
      deleted.push(recording);
    },
  };
  api = await startApi({ voiceDrivers: { sandbox } });
  api.clock.set("2026-03-01T10:00:00Z");
});
after(() => api.close());

const query = async <Row>(text: string, values: unknown[]): Promise<Row[]> =>
  (await api.app.db.pool.query(text, values)).rows as Row[];

/** Counts the rows of each of the account's tables that contain the number. */
async function traces({ account_id }: TestAccount): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of tenantTables) {
    const [row] = await query<{ n: number }>(
      `select count(*)::int as n from ${table} t where account_id = $1 and t::text like '%${number}%'`,
      [account_id],
    );
    if (row!.n > 0) found[table] = row!.n;
  }
  return found;
}

async function account(): Promise<TestAccount> {
  const made = await makeAccount(api.app);
  await setCalling(api.app, made, { night_calling: true });
  await makeCredits(api.app, made, { chat: 100, call: 100 });
  return made;
}

async function post(
  { token }: TestAccount,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
) {
  const answer = await api.send("POST", path, { token, json, headers });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

/** Relays all events, then runs jobs until none is due. */
async function work(): Promise<void> {
  await relay(api.app);
  const stopping = new AbortController().signal;
  while ((await workJobs(api.app, { "retention.erase_person": erasePerson }, stopping)) > 0);
}

const read = async ({ token }: TestAccount, path: string) =>
  (await api.send("GET", path, { token })).body;

type Campaign = { readonly id: number; readonly recipients: readonly number[] };

/** A campaign to the person and someone else, whose recipients are in this state. */
async function chatCampaign(owner: TestAccount, state: string): Promise<Campaign> {
  const { app } = api;
  const chat_number = await makeChatNumber(app, owner);
  const template_id = await makeChatTemplate(app, owner, chat_number);
  const people = [
    { phone, variables: { "1": "Asha" } },
    { phone: "919800000002", variables: { "1": "Ben" } },
  ];
  const id = await makeChatCampaign(app, owner, chat_number, template_id, people);
  const rows = await query<{ id: number }>(
    "select id from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [owner.account_id, id],
  );
  const recipients = rows.map((row) => row.id);
  first_recipient = recipients[0]!;
  const ways =
    state === "queued" ? [] : ["dispatching", ...(state === "dispatching" ? [] : [state])];
  for (const [i, to] of ways.entries())
    await move(
      owner,
      id,
      recipients.map((recipient) => ({ id: recipient, dispatches: Math.min(i, 1), to })),
    );
  await completeChatCampaigns(app, owner.account_id, [id]);
  return { id, recipients };
}

async function move(
  { account_id }: TestAccount,
  campaign_id: number,
  moves: readonly { id: number; dispatches: number; to: string }[],
) {
  const requested = moves.map(({ id, dispatches, to }) => ({
    campaign_id,
    id,
    dispatches,
    state: to,
    provider_message_id: to === "dispatching" ? null : providerId(account_id, id),
    due_at: api.clock.now(),
  }));
  await query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
    account_id,
    JSON.stringify(requested),
    api.clock.now(),
  ]);
}

/** A message id like WhatsApp's, which contains the recipient's number: that of the first recipient. */
let first_recipient = 0;
function providerId(accountId: number, id: number): string {
  return `wamid.${id === first_recipient ? phone : "of-somebody"}.${accountId}.${id}`;
}

/** Creates every kind of record about the person in an account. */
async function fill(owner: TestAccount) {
  const { account_id, workspace_id } = owner;
  const now = api.clock.now();
  await makeEndpoint(api.app, owner);
  const leads = `/api/v1/crm/workspaces/${workspace_id}/leads`;
  const lead = await post(
    owner,
    `${leads}/create`,
    { phone: number, name: "Asha", email: "asha@test.example" },
    { "idempotency-key": unique("key") },
  );
  // A lead of the contact with another phone, and someone else's lead.
  await post(owner, `${leads}/create`, { phone: "9800000009", contactId: lead.contactId });
  await post(owner, `${leads}/create`, { phone: "9800000008", name: "Ben" });
  const group = await post(owner, "/api/v1/groups", { name: unique("group") });
  await query(
    `with counted as (
       update groups set members_count = 2 where account_id = $1 and id = $2
     )
     insert into group_members (account_id, group_id, phone_key, phone, name, created_at)
     values ($1, $2, $3, $3, 'Asha', $4), ($1, $2, '919800000002', '919800000002', 'Ben', $4)`,
    [account_id, group.id, phone, now],
  );
  await makeSuppression(api.app, owner, phone);
  const read_campaign = await chatCampaign(owner, "read");
  const queued = await chatCampaign(owner, "queued");
  await query(
    `insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text,
       answers, campaign_id, recipient_id, opted_out, received_at)
     values ($1, 1, $2, $3, 'text', 'I am Asha', '[{"text": "Hello Asha"}]', $4, $5, false, $6)`,
    [
      account_id,
      unique(`wamid.${phone}`),
      phone,
      read_campaign.id,
      read_campaign.recipients[0],
      now,
    ],
  );
  await query("select count_chat_campaign($1, $2)", [account_id, read_campaign.id]);
  const node_id = await makeNode(api.app, { connected: true });
  const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  const waiting = await makeCall(api.app, owner, {
    place,
    asked: { remark: `Call ${number}`, reference: "R-1", source: "web" },
  });
  const over = await makeCall(api.app, owner, {
    place,
    call: { ...failed, ended_at: now, recording_state: "ready", dtmf: "42" },
    legs: [{}, { role: "customer", number: phone }],
  });
  await query(
    `insert into call_events (account_id, call_id, type, at, data)
     values ($1, $2, 'call.dtmf', $3, $4)`,
    [account_id, over.id, now, JSON.stringify({ call_id: over.id, to_number: number, digit: "4" })],
  );
  const campaign = await makeVoiceCampaign(api.app, owner, {
    campaign: { trunk_id: place.trunk_id },
    recipients: [
      { number, phone, state: "answered", variables: JSON.stringify({ name: "Asha" }) },
      { number: "9800000002", phone: "919800000002" },
    ],
  });
  const calling = await makeVoiceCampaign(api.app, owner, {
    campaign: { trunk_id: place.trunk_id, call_type: "obd_smartvoice" },
    recipients: [{ number, phone, state: "synthesizing" }, { state: "waiting" }],
  });
  const talked = await makeVoiceCall(api.app, owner, campaign, {
    call: { collected: JSON.stringify({ pin: "4711" }), lead_id: lead.id },
    steps: [
      { node: "start", key: null },
      { node: "start", key: "1" },
      { node: "start", key: "timeout" },
    ],
    said: [{ who: "caller", text: `It is ${number}` }],
    messages: [{ recording: unique("message"), node: "box", state: "ready" }],
  });
  await query("insert into voice_rejects values ($1, $2, 1, $3, 'came before')", [
    account_id,
    campaign.id,
    `+91 98765-43210`,
  ]);
  const [upload] = await query<{ id: number }>(
    `insert into lead_imports (account_id, workspace_id, created_by, file_name, column_map, header, state,
       total_rows, created_at)
     values ($1, $2, $3, 'people.csv', '{"phone": "Phone"}', '{Phone,Name}', 'processing', 2, $4) returning id`,
    [account_id, workspace_id, owner.owner_id, now],
  );
  await query(
    "insert into lead_import_rows values ($1, $2, 1, $3), ($1, $2, 2, '{9800000002,Ben}')",
    [account_id, upload!.id, [number, "Asha"]],
  );
  await query("insert into lead_import_rejects values ($1, $2, 1, $3, '[]')", [
    account_id,
    upload!.id,
    [`0${number}`, "Asha"],
  ]);
  await relay(api.app);
  await query(
    `insert into callback_attempts (account_id, delivery_id, at, duration_ms, status, response)
     select account_id, id, $2, 1, 200, 'Thanks for ${number}' from callback_deliveries
     where account_id = $1 and event_id = (select min(id) from events where account_id = $1)`,
    [account_id, now],
  );
  return { lead, read_campaign, queued, waiting, over, campaign, calling, talked };
}

async function checkInvariants(): Promise<void> {
  const { pool } = api.app.db;
  await checkLedger(pool);
  await checkCampaigns(pool);
  await checkVoiceCampaigns(pool);
}

test("erases everything about a number and nothing else: counts, credit and another account's data stay", async () => {
  const [mine, other] = [await account(), await account()];
  const had = await fill(mine);
  await fill(other);
  const theirs = await traces(other);
  const stays = [
    `/api/v1/chat/campaigns/${had.read_campaign.id}`,
    `/api/v1/voice/campaigns/${had.campaign.id}`,
  ];
  const shown = await Promise.all(stays.map((path) => read(mine, path)));

  const erasure = await post(mine, "/api/v1/erasures", { phone_number: `+${phone}` });
  assert.equal(erasure.phone_number, "**********10");
  assert.equal(erasure.state, "pending");
  await work();
  // The cancelled call has recorded its event.
  api.clock.advance(60_000);
  await work();
  const done = await read(mine, `/api/v1/erasures/${erasure.id}`);
  assert.equal(done.state, "done", JSON.stringify(await query("select * from erasures", [])));
  assert.deepEqual(await traces(mine), { suppressions: 1 });
  assert.deepEqual(await traces(other), theirs);

  const { events, ...counts } = done.counts;
  assert.ok(events > 0);
  assert.deepEqual(counts, {
    leads: 2,
    contacts: 1,
    import_rows: 3,
    group_members: 1,
    recipients: 4,
    replies: 1,
    calls: 3,
    recordings: 2,
  });
  assert.deepEqual(await Promise.all(stays.map((path) => read(mine, path))), shown);
  const { data: groups } = await read(mine, "/api/v1/groups");
  assert.equal(groups[0].members_count, 1);
  const sent = await read(mine, `/api/v1/chat/campaigns/${had.queued.id}`);
  assert.deepEqual([sent.counts.skipped, sent.counts.queued, sent.credits.released], [1, 1, 1]);
  const called = await read(mine, `/api/v1/voice/campaigns/${had.calling.id}`);
  assert.deepEqual([called.suppressed, called.pending], [1, 1]);
  await checkInvariants();

  const call = await read(mine, `/api/v1/calls/${had.talked}`);
  assert.deepEqual(
    [call.to_number, call.collected, call.transcript, call.messages],
    ["", {}, null, []],
  );
  assert.deepEqual(
    call.menu_path.map(({ key }: { key: string | null }) => key),
    [null, "erased", "timeout"],
  );
  const over = await read(mine, `/api/v1/calls/${had.over.id}`);
  assert.deepEqual([over.dtmf, over.recording_url, over.legs[1].number], ["", null, ""]);
  assert.deepEqual([over.events[0].digit, over.events[0].call_id], ["", had.over.id]);
  const waiting = await read(mine, `/api/v1/calls/${had.waiting.id}`);
  assert.deepEqual([waiting.status, waiting.remark, waiting.reference], ["canceled", null, null]);
  const retried = await api.send("POST", `/api/v1/calls/${had.over.id}/retry`, {
    token: mine.token,
    json: { leg: "agent" },
  });
  assert.equal(retried.status, 409, retried.text);
  assert.deepEqual(
    await query("select name from contacts where account_id = $1", [mine.account_id]),
    [{ name: "Ben" }],
  );
  const audit = (await read(mine, "/api/v1/audit?limit=2")).data;
  assert.deepEqual(
    audit.map(({ action }: { action: string }) => action),
    ["person.erased", "person.erasure_requested"],
  );
});

test("an erasure that is interrupted at any step continues where it was and counts nothing twice", async () => {
  const mine = await account();
  await fill(mine);
  const { id } = await post(mine, "/api/v1/erasures", { phone_number: number });
  // Each run is stopped after its first step, and every second claim is lost before it can write.
  for (let run = 0; (await read(mine, `/api/v1/erasures/${id}`)).state === "pending"; run++) {
    assert.ok(run < 200, "the erasure does not end");
    const stopping = new AbortController();
    const steps = { ...api.app, db: { ...api.app.db, query: watched(stopping, run % 2 === 1) } };
    await workJobs(steps, { "retention.erase_person": erasePerson }, stopping.signal);
    await relay(api.app);
    api.clock.advance(1_000_000);
  }
  const { counts } = await read(mine, `/api/v1/erasures/${id}`);
  assert.deepEqual(
    [
      counts.leads,
      counts.contacts,
      counts.recipients,
      counts.calls,
      counts.recordings,
      counts.import_rows,
    ],
    [2, 1, 4, 3, 2, 3],
  );
  assert.deepEqual(await traces(mine), { suppressions: 1 });
  await checkInvariants();
});

/** A database that stops the run after a transaction, or revokes its claim before. */
function watched(stopping: AbortController, loses: boolean) {
  const { query: db, pool } = api.app.db;
  return new Proxy(db, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (name !== "transaction") return typeof value === "function" ? value.bind(target) : value;
      return () => ({
        execute: async (effect: never) => {
          stopping.abort();
          if (loses)
            await pool.query(
              "update jobs set fence = fence + 1, lease_until = null where kind like 'retention%'",
            );
          return target.transaction().execute(effect);
        },
      });
    },
  });
}

/** Stores what an erasure erases after recordings, and a suppression, which it keeps without the words of the reply. */
async function storeLaterTraces({ account_id, owner_id }: TestAccount): Promise<void> {
  const now = api.clock.now();
  await query(
    `insert into chat_unread_webhooks (account_id, chat_number_id, driver, body, reason, received_at)
     values ($1, 1, 'meta', $2, 'unknown', $3)`,
    [account_id, JSON.stringify({ messages: [{ from: phone }] }), now],
  );
  await query(
    `insert into saved_views (account_id, user_id, page, columns, shared, name, search, created_at, updated_at)
     values ($1, $2, 'leads', '{}', true, 'Leads', $3, $4, $4)`,
    [account_id, owner_id, JSON.stringify({ phone_number: `+${phone}` }), now],
  );
  await query(
    `insert into suppressions (account_id, person_key, phone, channel, scope, source, reason, evidence, occurred_at,
       created_at) values ($1, $2, $2, 'chat', 'all', 'reply', 'Stop', $3, $4, $4)`,
    [account_id, phone, JSON.stringify({ reply_id: 1, text: `Stop ${number}` }), now],
  );
}
const later_traces = { chat_unread_webhooks: 1, saved_views: 1 };

test("an erasure waits for messages, calls and silent nodes in progress, and reports what it waits for", async () => {
  const mine = await account();
  const sending = await chatCampaign(mine, "dispatching");
  const node = async () => {
    const node_id = await makeNode(api.app, { connected: true });
    return { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  };
  const [place, lost] = [await node(), await node()];
  const call = { ...failed, ended_at: api.clock.now() };
  const live = await makeCall(api.app, mine, {
    place,
    call: { stage: "talking", status: "in-progress" },
  });
  const recorded = await makeCall(api.app, mine, {
    place,
    call: { ...call, recording_state: "ready" },
  });
  // A failed recording may exist in part.
  await makeCall(api.app, mine, { place: lost, call: { ...call, recording_state: "failed" } });
  await storeLaterTraces(mine);
  is_silent = true;
  const { id } = await post(mine, "/api/v1/erasures", { phone_number: number });
  const workOn = async () => {
    api.clock.advance(60_000);
    await work();
  };
  const assertWaits = async (waiting_for: string, left: Record<string, number>) => {
    assert.deepEqual(await traces(mine), { ...left, erasures: 1, suppressions: 1 });
    const erasure = await read(mine, `/api/v1/erasures/${id}`);
    assert.deepEqual([erasure.state, erasure.waiting_for], ["pending", waiting_for]);
  };
  await workOn();
  await assertWaits("call", { ...later_traces, calls: 1, chat_recipients: 1, click_to_calls: 1 });

  await query(
    "update calls set stage = 'ended', ended_at = now() where account_id = $1 and id = $2",
    [mine.account_id, live.id],
  );
  await workOn();
  await assertWaits("message", { ...later_traces, chat_recipients: 1 });

  await move(
    mine,
    sending.id,
    sending.recipients.map((recipient) => ({ id: recipient, dispatches: 1, to: "read" })),
  );
  await workOn();
  // The campaign has recorded its completion.
  await workOn();
  await assertWaits("recording", {});
  const evidence = "select evidence from suppressions where account_id = $1";
  assert.deepEqual(await query(evidence, [mine.account_id]), [{ evidence: { reply_id: 1 } }]);

  await query("delete from voice_nodes where id = $1", [lost.node_id]);
  await workOn();
  await assertWaits("recording", {});
  is_silent = false;
  await workOn();
  const done = await read(mine, `/api/v1/erasures/${id}`);
  assert.deepEqual([done.state, done.waiting_for], ["done", null]);
  assert.deepEqual([done.counts.calls, done.counts.recordings], [3, 2]);
  assert.ok(deleted.includes(`trk-${mine.account_id}-${recorded.id}`));
  assert.deepEqual(await traces(mine), { suppressions: 1 });
});

test("an erasure waits for a recording that its node refuses to delete, and deletes the others meanwhile", async () => {
  const mine = await account();
  const node_id = await makeNode(api.app, { connected: true });
  const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  const call = { ...failed, ended_at: api.clock.now(), recording_state: "ready" };
  const [first, second] = [
    await makeCall(api.app, mine, { place, call }),
    await makeCall(api.app, mine, { place, call }),
  ];
  const nameOf = ({ id }: { id: number }) => `trk-${mine.account_id}-${id}`;
  refused.add(nameOf(first));
  const { id } = await post(mine, "/api/v1/erasures", { phone_number: number });
  const workOn = async () => {
    api.clock.advance(60_000);
    await work();
    return read(mine, `/api/v1/erasures/${id}`);
  };
  const waiting = await workOn();
  assert.deepEqual([waiting.state, waiting.waiting_for], ["pending", "recording"]);
  assert.deepEqual(
    [deleted.includes(nameOf(first)), deleted.includes(nameOf(second))],
    [false, true],
  );
  refused.clear();
  const done = await workOn();
  assert.deepEqual([done.state, done.counts.recordings], ["done", 2]);
  assert.ok(deleted.includes(nameOf(first)));
});

test("an erasure requires people.erase and a valid phone number, and shows only the number's last digits", async () => {
  const mine = await account();
  const ask = (json: unknown, token = mine.token) =>
    api.send("POST", "/api/v1/erasures", { token, json });
  const agent = await makeAgentToken(api.app, mine, ["crm.write", "account.manage"]);
  assert.equal((await ask({ phone_number: number }, agent)).status, 403);
  for (const phone_number of ["", "12", "Asha", "98765432101234567890"]) {
    const answer = await ask({ phone_number });
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.body.errors[0].field, "phone_number");
  }
  const first = await ask({ phone_number: number });
  assert.equal(first.status, 202);
  const second = await ask({ phone_number: "+44 20 7946 0123" });
  assert.equal(second.body.phone_number, "**********23");
  const list = await read(mine, "/api/v1/erasures?limit=1");
  assert.deepEqual(list.data, [second.body]);
  assert.deepEqual((await read(mine, `/api/v1/erasures?cursor=${list.next_cursor}`)).data, [
    first.body,
  ]);
  const foreign = await account();
  const answer = await api.send("GET", `/api/v1/erasures/${first.body.id}`, {
    token: foreign.token,
  });
  assert.equal(answer.status, 404);
});

test("a campaign named after a number is not created again, and an erased recipient not sent to again", async () => {
  const mine = await account();
  const { id } = await chatCampaign(mine, "undelivered");
  const chat_number = await makeChatNumber(api.app, mine);
  const template_id = await makeChatTemplate(api.app, mine, chat_number);
  const key = unique("key");
  const create = () =>
    post(
      mine,
      "/api/v1/chat/campaigns",
      {
        name: `Reminder ${number}, ${number}`,
        template_id,
        chat_number_id: chat_number.id,
        contacts: [{ phone_number: "919800000002", variables: { "1": "Ben" } }],
      },
      { "idempotency-key": key },
    );
  const created = await create();
  await post(mine, "/api/v1/erasures", { phone_number: number });
  await work();
  const again = await create();
  assert.deepEqual([again.id, again.name], [created.id, "Reminder 0, 0"]);
  const retried = await post(
    mine,
    `/api/v1/chat/campaigns/${id}/retry`,
    {},
    { "idempotency-key": unique("key") },
  );
  assert.equal(retried.retried, 1);
});

test("a delivery status that is repeated after the erasure stores no message ID of the provider", async () => {
  const mine = await account();
  const { id: campaign_id, recipients } = await chatCampaign(mine, "accepted");
  const failed_again = {
    campaign_id,
    id: recipients[0]!,
    dispatches: 1,
    state: "deferred",
    provider_message_id: providerId(mine.account_id, recipients[0]!),
    error_code: 131049,
    error: "frequency_capped",
    due_at: api.clock.now(),
  };
  const report = () =>
    query("select from chat_move_recipients_json($1, 'inbound', $2, $3)", [
      mine.account_id,
      JSON.stringify([failed_again]),
      api.clock.now(),
    ]);
  await report();
  await post(mine, "/api/v1/erasures", { phone_number: number });
  await work();
  await report();
  await work();
  assert.deepEqual(await traces(mine), {});
  await checkInvariants();
});

test("erasing a number of fewer than ten digits keeps rows of longer numbers that contain it", async () => {
  const owner = await account();
  const { account_id } = owner;
  const rows = ["+290 22222", "(00290) 22-222", "9290222221"];
  for (const [i, cell] of rows.entries())
    await query("insert into lead_import_rejects values ($1, 1, $2, $3, '[]')", [
      account_id,
      i + 1,
      [cell, "Asha"],
    ]);
  await post(owner, "/api/v1/erasures", { phone_number: "+29022222" });
  await work();
  const left = await query<{ cells: string[] }>(
    "select cells from lead_import_rejects where account_id = $1 order by row_number",
    [account_id],
  );
  assert.deepEqual(
    left.map(({ cells }) => cells[0]),
    ["", "", "9290222221"],
  );
});

test("an erasure finds every spelling in uploads that an import reads", async () => {
  const fullWidth = (text: string) =>
    text.replaceAll(/[0-9+]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0));
  const digitsFrom = (zero: number, text: string) =>
    text.replaceAll(/[0-9]/g, (digit) => String.fromCharCode(zero + Number(digit)));
  for (const [phone_number, written, others] of [
    [
      number,
      [fullWidth(`+91 ${number}`), digitsFrom(0x660, number), digitsFrom(0x6f0, `0${number}`)],
      ["9876543211", "98765432"],
    ],
    ["+447911123456", ["+44 (0) 7911 123456", "0044(0)7911-123456"], ["+44 (0) 7911 123457"]],
    [
      "+29022222",
      ["\u202a+290\u00a022222\u202c", "290\u201122222", fullWidth("+290 22222"), "29022222.0"],
      ["9290222221", "+290 22222.05"],
    ],
    ["+298211200", ["+298 21.12.00", "29022222\uFF0C298211200"], ["+298 21.12.01"]],
    ["+358912345", ["+358 (0) 912345", "00358 [0] 9-12345"], ["+358 (0) 9123456"]],
  ] as const) {
    const owner = await account();
    for (const [i, cell] of [...written, ...others].entries())
      for (const table of ["lead_import_rejects", "voice_rejects"])
        await query(
          table === "voice_rejects"
            ? "insert into voice_rejects values ($1, 1, $2, $3, 'invalid')"
            : "insert into lead_import_rejects values ($1, 1, $2, array[$3], '[]')",
          [owner.account_id, i + 1, cell],
        );
    await post(owner, "/api/v1/erasures", { phone_number });
    await work();
    const left = await query<{ cell: string }>(
      `select cells[1] as cell from lead_import_rejects where account_id = $1 and cells[1] <> ''
       union all select value from voice_rejects where account_id = $1 and value <> ''`,
      [owner.account_id],
    );
    assert.deepEqual(
      left.map(({ cell }) => cell),
      [...others, ...others],
    );
  }
});

/** A long text that PostgreSQL stores compressed, and one that it cannot compress. */
const long_texts = [
  "repeat('unpaid ', 90000)",
  "(select string_agg(md5(i::text), ' ') from generate_series(1, 20000) i)",
];
const uploads = [
  { table: "lead_import_rows", part: eraseImportRows, values: "array['Asha', text]" },
  { table: "lead_import_rejects", part: eraseImportRejects, values: "array['Asha', text], '[]'" },
  { table: "voice_rejects", part: eraseVoiceRejects, values: "text, 'invalid'" },
];

/** Runs a part to its end; returns how many rows each step erased. */
async function rowsByStep(part: Part, account_id: number): Promise<(number | undefined)[]> {
  const requested = { account_id, id: 1, phone, bsuid: null, country_code: "91" };
  const person = await readPerson(api.app, requested);
  const write: StepContext["write"] = (effect) =>
    api.app.db.query.transaction().execute((tx) => effect(tx, api.clock.now()));
  const context = { app: api.app, person, stopping: new AbortController().signal, write };
  const erased: (number | undefined)[] = [];
  let at: unknown = null;
  do {
    const step = await part({ ...context, progress: { ...first_progress, at } });
    erased.push(step.counts?.import_rows);
    ({ at } = step);
  } while (at !== null);
  return erased;
}

for (const { table, part, values } of uploads)
  test(`each step of an erasure searches at most a few long rows of ${table}, and the steps search all of them`, async () => {
    const { account_id } = await account();
    for (const [i, text] of long_texts.entries())
      await query(
        `insert into ${table} select $1, $2, row, ${values}
         from generate_series(1, 4) row cross join lateral (select row || ${text} || $3 as text) t`,
        [account_id, i + 1, number],
      );
    const erased = await rowsByStep(part, account_id);
    assert.deepEqual(erased, [2, 2, 2, 2]);
  });

test("erasing a person empties the agent's side of calls and the reasons of suppressions, and keeps the customer's side", async () => {
  const owner = await account();
  const { account_id } = owner;
  const now = api.clock.now();
  const node_id = await makeNode(api.app, { connected: true });
  const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
  const calls: number[] = [];
  for (const from_number of [number, `+${phone}`, phone]) {
    const { id } = await makeCall(api.app, owner, {
      place,
      asked: { from_number, to_number: "9800000002", to_phone: "919800000002" },
      call: {
        ...failed,
        ended_at: now,
        from_number,
        to_number: "9800000002",
        to_phone: "919800000002",
      },
      legs: [
        { role: "agent", number: phone },
        { role: "customer", number: "919800000002" },
      ],
    });
    calls.push(id);
    const data = JSON.stringify({ call_id: id, from_number, to_number: "9800000002" });
    await query(
      `insert into call_events (account_id, call_id, type, at, data) values ($1, $2, 'call.completed', $3, $4)`,
      [account_id, id, now, data],
    );
    await query(
      `insert into events (account_id, type, occurred_at, data) values ($1, 'call.completed', $2, $3)`,
      [account_id, now, data],
    );
  }
  await query(
    `insert into events (account_id, type, occurred_at, data) values ($1, 'call.missed', $2, $3)`,
    [account_id, now, JSON.stringify({ call_id: 1, from_number: number })],
  );
  await post(owner, "/api/v1/suppressions", {
    phone_number: `+${phone}`,
    reason: `Asha, ${number}, called`,
  });
  await post(owner, "/api/v1/erasures", { phone_number: `+${phone}` });
  await work();
  api.clock.advance(60_000);
  await work();
  assert.deepEqual(await traces(owner), { suppressions: 1 });
  const [suppression] = (await read(owner, "/api/v1/suppressions")).data;
  assert.deepEqual([suppression.phone_number, suppression.reason], [phone, "manual"]);
  for (const id of calls) {
    const call = await read(owner, `/api/v1/calls/${id}`);
    assert.deepEqual([call.from_number, call.to_number], ["", "9800000002"]);
  }
});

test("erasing an agent who was called first and did not answer keeps what another agent's call recorded", async () => {
  const owner = await account();
  const now = api.clock.now();
  const numbers = { from_number: number, to_number: "9800000002", to_phone: "919800000002" };
  const { id } = await makeCall(api.app, owner, {
    asked: numbers,
    call: {
      ...numbers,
      stage: "ended",
      status: "completed",
      disposition: "answered",
      ended_at: now,
      recording_state: "ready",
    },
    legs: [
      { number: phone, outcome: "no_answer" },
      // A voicemail.
      { number: phone, status: "no-answer", outcome: "lost", answered_at: now },
      { number: "102", outcome: "hung_up", answered_at: now },
      { role: "customer", number: "919800000002", outcome: "hung_up", answered_at: now },
    ],
  });
  await post(owner, "/api/v1/erasures", { phone_number: number });
  await work();
  assert.deepEqual(await traces(owner), {});
  const stored = "select from_number, recording_state from calls where account_id = $1 and id = $2";
  assert.deepEqual(await query(stored, [owner.account_id, id]), [
    { from_number: "", recording_state: "ready" },
  ]);
});

test("erasing an agent keeps the message that the customer recorded before the transfer, and erasing the customer deletes it", async () => {
  const owner = await account();
  const { account_id } = owner;
  const node_id = await makeNode(api.app, { connected: true });
  const trunk_id = await makeTrunk(api.app, [node_id]);
  const [agent, customer] = ["9811111101", "9811111102"];
  const campaign = await makeVoiceCampaign(api.app, owner, {
    campaign: { trunk_id, call_type: "obd_ivr" },
    recipients: [{ number: customer, phone: `91${customer}` }],
  });
  const id = await makeVoiceCall(api.app, owner, campaign, {
    call: { recording_state: "ready" },
    messages: [{ recording: `message-${account_id}`, node: "note", state: "ready" }],
  });
  const ended = { state: "ended", status: "completed", outcome: "hung_up" };
  const leg = { account_id, call_id: id, on_trunk: true, ...ended };
  const answered = { initiated_at: api.clock.now(), answered_at: api.clock.now() };
  await api.app.db.query
    .insertInto("call_legs")
    .values([
      { ...leg, ...answered, id: 1, role: "customer", number: `91${customer}` },
      { ...leg, ...answered, id: 2, role: "transfer", number: `91${agent}` },
    ])
    .execute();
  const messages = async () => {
    const rows = await query<{ state: string }>(
      "select state from call_messages where account_id = $1 and call_id = $2",
      [account_id, id],
    );
    return rows.map(({ state }) => state);
  };
  const erase = async (phone_number: string) => {
    const erasure = await post(owner, "/api/v1/erasures", { phone_number });
    await work();
    const { state, counts } = await read(owner, `/api/v1/erasures/${erasure.id}`);
    return [state, counts.recordings];
  };
  assert.deepEqual([await erase(agent), await messages()], [["done", 1], ["ready"]]);
  const [call, message] = [`trk-${account_id}-${id}`, `message-${account_id}`];
  const isDeleted = () => [call, message].map((recording) => deleted.includes(recording));
  assert.deepEqual(isDeleted(), [true, false]);
  assert.deepEqual([await erase(customer), await messages()], [["done", 1], []]);
  assert.deepEqual(isDeleted(), [true, true]);
});

test("every column that can hold text is filled by the tests of erasures, or known to keep no person's identity", async () => {
  const columns = await textColumns(api.app.db.pool);
  // Both are lists of test/support/identity-columns.ts to correct.
  assert.deepEqual(
    {
      unknown: columns.filter((column) => !known_columns.includes(column)),
      missing: known_columns.filter((column) => !columns.includes(column)),
    },
    { unknown: [], missing: [] },
  );
});

/** Countries whose mobile numbers have two spellings, and others; the last one asks by WhatsApp user ID. */
const people = [
  { who: "a number of India", country_code: "91", asked: "9876512345", phone: "919876512345" },
  {
    who: "a number of Brazil",
    country_code: "55",
    asked: "+5551998761234",
    phone: "5551998761234",
  },
  { who: "a number of Mexico", country_code: "52", asked: "+5215512345678", phone: "525512345678" },
  { who: "a number of Argentina", country_code: "54", asked: "1123456789", phone: "541123456789" },
  {
    who: "the number of a user ID",
    country_code: "44",
    asked: "US.ERASED44",
    phone: "447911123456",
  },
] as const;

async function assertErased({ country_code, asked, phone: of }: (typeof people)[number]) {
  const owner = await account();
  await setCalling(api.app, owner, { country_code });
  const bsuid = `US.ERASED${country_code}`;
  await makeEndpoint(api.app, owner);
  for (const spelling of phoneSpellings(of))
    await fillPerson(api, owner, { phone: spelling, bsuid, country_code });
  await relay(api.app);
  await query(
    `insert into callback_attempts (account_id, delivery_id, at, duration_ms, status, response)
     select account_id, min(id), $2, 1, 200, $3 from callback_deliveries where account_id = $1 group by 1`,
    [owner.account_id, api.clock.now(), `Thanks for ${of}`],
  );
  const { id } = await post(owner, "/api/v1/erasures", { phone_number: asked });
  assert.deepEqual(
    Object.keys(await identityTraces(api.app.db.pool, of, [bsuid])).toSorted(),
    personal_columns.map((column) =>
      asked === bsuid && column === "erasures.phone" ? "erasures.bsuid" : column,
    ),
  );
  await work();
  api.clock.advance(60_000);
  await work();
  assert.equal((await read(owner, `/api/v1/erasures/${id}`)).state, "done");
  assert.deepEqual(Object.keys(await identityTraces(api.app.db.pool, of, [bsuid])), [
    "person_bsuids.bsuid",
    "person_bsuids.phone_key",
    "phone_aliases.alias_key",
    "phone_aliases.phone_key",
    "suppressions.bsuid",
    "suppressions.person_key",
    "suppressions.phone",
  ]);
  const others = await query(
    `select from idempotency_keys
     where account_id = $1 and endpoint = 'sendChatAnswer' and response like '%"wamid.%'`,
    [owner.account_id],
  );
  assert.equal(others.length, phoneSpellings(of).length);
  await checkInvariants();
}

for (const person of people)
  test(`after an erasure no column of any table contains ${person.who} in any spelling, except its suppression`, () =>
    assertErased(person));

test("an erasure finds the person under WhatsApp's alias of the number, and keeps the alias's suppression", async () => {
  const owner = await account();
  const { account_id } = owner;
  const { pool } = api.app.db;
  const [asked, alias, bsuid] = ["919811122233", "918044455566", "IN.ALIAS1"];
  await query("insert into phone_aliases values ($1, $2, $3), ($1, $3, $2)", [
    account_id,
    asked,
    alias,
  ]);
  await makeEndpoint(api.app, owner);
  await fillPerson(api, owner, { phone: alias, bsuid, country_code: "91" });
  const stop = { phone: alias, provider_message_id: unique("wamid"), type: "text", text: "STOP" };
  const reply = { ...stop, opted_out: true, at: api.clock.now() };
  await query("select from record_chat_replies($1, 1, $2)", [account_id, JSON.stringify([reply])]);
  const erase = async () => {
    const { id } = await post(owner, "/api/v1/erasures", { phone_number: `+${asked}` });
    await work();
    api.clock.advance(60_000);
    await work();
    return read(owner, `/api/v1/erasures/${id}`);
  };
  const done = await erase();
  assert.deepEqual([done.state, done.counts.replies], ["done", 3]);
  assert.deepEqual(
    await query(
      "select distinct phone, text, content::text from chat_replies where account_id = $1",
      [account_id],
    ),
    [{ phone: "", text: null, content: null }],
  );
  const aliases = ["phone_aliases.alias_key", "phone_aliases.phone_key"];
  assert.deepEqual(Object.keys(await identityTraces(pool, asked)), aliases);
  assert.deepEqual(Object.keys(await identityTraces(pool, alias, [bsuid])), [
    "person_bsuids.bsuid",
    "person_bsuids.phone_key",
    ...aliases,
    "suppressions.bsuid",
    "suppressions.person_key",
    "suppressions.phone",
  ]);
  const outreach = messageOutreach(null);
  const person = { phone: asked };
  assert.ok(await isSuppressed(pool, account_id, outreach, person, api.clock.now()));

  await query("delete from suppressions where account_id = $1", [account_id]);
  assert.equal((await erase()).state, "done");
  assert.deepEqual(await identityTraces(pool, asked), {});
  assert.deepEqual(await identityTraces(pool, alias, [bsuid]), {});
  await checkInvariants();
});

test("a person known by a WhatsApp user ID alone is erased by it, and other users are not", async () => {
  const owner = await account();
  const { account_id } = owner;
  const [bsuid, other] = ["IN.4711A", "IN.4711A1"];
  const now = api.clock.now();
  const { recipients } = await chatCampaign(owner, "read");
  for (const [i, id] of [bsuid, other].entries()) {
    await query(
      "update chat_recipients set phone = null, bsuid = $3 where account_id = $1 and id = $2",
      [account_id, recipients[i], id],
    );
    await query(
      `insert into chat_replies (account_id, chat_number_id, provider_message_id, bsuid, type, text, opted_out,
         received_at) values ($1, 1, $2, $3, 'text', 'I am Asha', false, $4)`,
      [account_id, unique("wamid"), id, now],
    );
    await query(
      `insert into events (account_id, type, occurred_at, data) values ($1, 'chat.optout', $2, $3)`,
      [account_id, now, JSON.stringify({ phone_number: null, bsuid: id })],
    );
    await query(
      `insert into suppressions (account_id, person_key, bsuid, channel, scope, source, reason, occurred_at, created_at)
       values ($1, $2, $3, 'chat', 'all', 'reply', 'Stop', $4, $4)`,
      [account_id, `bsuid:${id}`, id, now],
    );
    await query("insert into person_bsuids (account_id, bsuid) values ($1, $2)", [account_id, id]);
  }
  const { pool } = api.app.db;
  const traces_of_other = await identityTraces(pool, "0000000000", [other]);
  const erasure = await post(owner, "/api/v1/erasures", { phone_number: bsuid });
  assert.equal(erasure.phone_number, "******1A");
  await work();
  const done = await read(owner, `/api/v1/erasures/${erasure.id}`);
  assert.deepEqual(
    [done.state, done.counts.recipients, done.counts.replies, done.counts.events],
    ["done", 1, 1, 1],
  );
  assert.deepEqual(await identityTraces(pool, "0000000000", [other]), traces_of_other);
  const left = await identityTraces(pool, "0000000000", [bsuid]);
  for (const [column, count] of Object.entries(traces_of_other)) left[column]! -= count;
  assert.deepEqual(
    Object.entries(left).filter(([, count]) => count > 0),
    [
      ["person_bsuids.bsuid", 1],
      ["suppressions.bsuid", 1],
      ["suppressions.person_key", 1],
    ],
  );
  await checkInvariants();
});

test("an erasure cancels the customer's queued retry and adds no suppression for its auto_block_time", async () => {
  const owner = await account();
  const { id } = await makeCall(api.app, owner, {
    asked: { max_retry: 1, auto_block_minutes: 60 },
    call: { attempt: 2 },
  });
  await post(owner, "/api/v1/erasures", { phone_number: number });
  await work();
  assert.equal((await read(owner, `/api/v1/calls/${id}`)).status, "canceled");
  const added = await query("select id from suppressions where account_id = $1", [
    owner.account_id,
  ]);
  assert.deepEqual(added, []);
});

test("the erasure of an agent cancels the agent's queued retries and blocks their customers for auto_block_time", async () => {
  const owner = await account();
  const customers = ["919800000003", "919800000002"];
  for (const to_phone of customers) {
    const numbers = { from_number: number, to_number: to_phone, to_phone };
    await makeCall(api.app, owner, {
      asked: { ...numbers, max_retry: 1, auto_block_minutes: 60 },
      call: { ...numbers, attempt: 2 },
    });
  }
  await post(owner, "/api/v1/erasures", { phone_number: number });
  await work();
  const { account_id } = owner;
  const calls = await query<{ status: string }>(
    "select status, from_number from calls where account_id = $1",
    [account_id],
  );
  const canceled = { status: "canceled", from_number: "" };
  assert.deepEqual(calls, [canceled, canceled]);
  const added = await query<{ phone: string }>(
    "select phone, source, channel from suppressions where account_id = $1 order by id",
    [account_id],
  );
  const block = { source: "auto_block", channel: "voice" };
  assert.deepEqual(
    added,
    customers.toReversed().map((to_phone) => ({ phone: to_phone, ...block })),
  );
  // It has waited for the relay of the cancelled calls' events.
  api.clock.advance(2_000);
  await work();
  assert.deepEqual(await traces(owner), {});
});

test("an erasure handles the calls of an agent in batches of a bounded cost, however many they are", async () => {
  const owner = await account();
  const { account_id } = owner;
  const calls = 2_000;
  // So many others that no plan reads a table whole, as is right for a small one.
  const others = 10_000;
  const { node_id, trunk_id } = await makeSandboxTrunk(api.app, owner);
  const now = api.clock.now();
  await query(
    `with campaigns as (
       insert into call_campaigns (account_id, kind, created_by, created_at)
       select $1, 'click_to_call', $2, $3 from generate_series(1, $4) returning id
     ), made as (
       insert into calls (account_id, campaign_id, attempt, node_id, trunk_id, stage, status, from_number, to_number,
         to_phone, due_at, queued_at, ended_at)
       select $1, id, 1, $5, $6, 'ended', 'completed', case when id % $8 = 0 then $7 else '919800000009' end,
         '9800000002', '919800000002', $3, $3::timestamptz + id * interval '1 second', $3 from campaigns
       returning id, from_number
     )
     insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at)
     select $1, id, 1, 'agent', from_number, true, 'ended', 'completed', $3 from made`,
    [account_id, owner.owner_id, now, calls + others, node_id, trunk_id, phone, 1 + others / calls],
  );
  await query("analyze calls", []);
  await query("analyze call_legs", []);
  const requested = { account_id, id: 1, phone, bsuid: null, country_code: "91" };
  const person = await readPerson(api.app, requested);
  let [erased, steps] = [0, 0];
  const rows = await rowsRead(api.app, async (app) => {
    const { query: tx } = app.db;
    const write: StepContext["write"] = (effect) => effect(tx as Tx, api.clock.now());
    const { signal: stopping } = new AbortController();
    let at: unknown = null;
    do {
      const progress = { ...first_progress, at };
      const step = await eraseCalls({ app, person, progress, stopping, write });
      erased += step.counts?.calls ?? 0;
      steps++;
      assert.ok(JSON.stringify(step).length < 500, "the stored progress grows with the calls");
      ({ at } = step);
    } while (at !== null);
  });
  assert.equal(erased, calls);
  assert.ok(steps < calls / 50, `${steps} steps for ${calls} calls`);
  assert.ok(rows < 20 * calls, `${rows} rows for ${calls} calls`);
});
