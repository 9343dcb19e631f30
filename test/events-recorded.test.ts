// Checks that every event of the catalogue is recorded in the transaction of its change, with the described data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql, type Kysely } from "kysely";
import { compileValidator } from "../server/api/compile-validator.ts";
import { applyWebhooks } from "../server/chat/inbound/apply-webhooks.ts";
import { pauseChatCampaign } from "../server/chat/campaigns/pause-chat-campaign.ts";
import { openSenders } from "../server/chat/sender/open-senders.ts";
import { startCampaign } from "../server/chat/campaigns/start-campaign.ts";
import { reserveCredits } from "../server/credits/reserve-credits.ts";
import {
  ChatSendError,
  type ChatDriver,
  type Outgoing,
  type ProviderTemplate,
} from "../server/drivers/chat/driver.ts";
import {
  openSandboxVoiceDriver,
  type SandboxVoiceDriver,
} from "../server/drivers/voice/sandbox/open-sandbox-driver.ts";
import { eventCatalogue, type EventType } from "../server/engine/event-catalogue.ts";
import type { DB } from "../server/lib/database/database.ts";
import { runLoop } from "../server/engine/run-loop.ts";
import { completeVoiceCampaigns } from "../server/voice/campaigns/complete-voice-campaigns.ts";
import { moveStrandedCampaigns } from "../server/voice/campaigns/move-stranded-campaigns.ts";
import { pauseVoiceCampaign } from "../server/voice/campaigns/pause-voice-campaign.ts";
import { startVoiceCampaign } from "../server/voice/campaigns/start-voice-campaign.ts";
import { default_settings } from "../server/worker.ts";
import { startApi, type TestApi } from "./support/api.ts";
import { leadNodes, openCallClient, type CallClient } from "./support/call-client.ts";
import {
  makeAgentGroup,
  makeExtension,
  makePhoneNumber,
  makeSandboxTrunk,
  setCalling,
} from "./support/telephony-factory.ts";
import { makeChatNumber, makeChatTemplate, type TestChatNumber } from "./support/chat-factory.ts";
import {
  changeHook,
  messageHook,
  openTestWhatsapp,
  preferenceHook,
  statusHook,
  type TestStatus,
} from "./support/chat-webhooks.ts";
import { eventually } from "./support/eventually.ts";
import { makeAccount, makeCredits, unique, type TestAccount } from "./support/account-factory.ts";
import { makeFullVoiceFile } from "./support/voice-file-factory.ts";

let api: TestApi;
let account: TestAccount;
let client: CallClient;
let sandbox: SandboxVoiceDriver;
let node_id: number;
let number: TestChatNumber;
let provider_template_id: string;
let template_id: number;
let endpoint_id: number;
/** A campaign with a queued recipient. */
let waiting_id: number;

/** The messages that the provider accepted, and the phones that it rejects, with the error code. */
const sent: Outgoing[] = [];
const refusals = new Map<string, number>();
const send: ChatDriver["send"] = async (_from, outgoing) => {
  const code = refusals.get(outgoing.to);
  if (code !== undefined) throw new ChatSendError("rejected", "no", { code });
  sent.push(outgoing);
  return { provider_message_id: `wamid.${outgoing.message_id}` };
};

/** The provider has the templates as they are stored. */
const listTemplates = async (businessAccountId: string) =>
  (await api.app.db.query
    .selectFrom("chat_templates")
    .selectAll()
    .where("business_account_id", "=", businessAccountId)
    .execute()) as unknown as ProviderTemplate[];

before(async () => {
  sandbox = openSandboxVoiceDriver({ pace: 50 });
  api = await startApi({
    chatDrivers: { whatsapp: { ...openTestWhatsapp(), send, listTemplates } },
    voiceDrivers: { sandbox },
  });
  const { app } = api;
  account = await makeAccount(app);
  await setCalling(app, account, { night_calling: true });
  await makeCredits(app, account, { chat: 100, call: 1_000 });
  ({ node_id } = await makeSandboxTrunk(app, account));
  number = await makeChatNumber(app, account, { driver: "whatsapp" });
  provider_template_id = unique("9000");
  const template = { driver: "whatsapp", provider_template_id } as const;
  template_id = await makeChatTemplate(app, account, number, template);
  client = await openCallClient(api, account);
});
after(async () => {
  await sandbox.close();
  await api.close();
});

// oxlint-disable-next-line typescript/no-explicit-any -- looks into data of every event
type RecordedEvent = { readonly id: number; readonly data: any };

/** Returns the events of a type so far, in their order. */
async function eventsOf(type: EventType): Promise<RecordedEvent[]> {
  const { rows } = await api.app.db.pool.query<RecordedEvent>(
    "select id, data from events where account_id = $1 and type = $2 order by id",
    [account.account_id, type],
  );
  return rows;
}

/** Asserts that the last event of the type was recorded by the transaction that last wrote the row. */
async function assertWrittenWith(type: EventType, table: string, where: string): Promise<void> {
  const { rows } = await api.app.db.pool.query<{ event: string; row: string }>(
    `select e.xmin::text as event, r.xmin::text as row from ${table} r cross join lateral (
       select xmin from events where account_id = r.account_id and type = $2 order by id desc limit 1) e
     where r.account_id = $1 and ${where}`,
    [account.account_id, type],
  );
  assert.equal(rows.length, 1, `${type} of ${table} where ${where}`);
  assert.equal(
    rows[0]!.event,
    rows[0]!.row,
    `${type} was not recorded in the transaction of ${table}`,
  );
}

async function request(
  method: string,
  path: string,
  json?: unknown,
): Promise<RecordedEvent["data"]> {
  const headers = { "idempotency-key": unique("key") };
  const { token } = account;
  const answer = await api.send(method, `/api/v1${path}`, { token, json, headers });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

let phones = 919_812_000_000;
const newPhone = () => String(++phones);

const createCampaign = async (more: object) =>
  (await request("POST", "/chat/campaigns", {
    name: "Spring",
    chat_number_id: number.id,
    template_id,
    contacts: [{ phone_number: newPhone() }],
    ...more,
  })) as { id: number; status: string };

const statusOf = async (path: string) => (await request("GET", path)).status as string;

/** Runs senders, as a worker does, while `work` runs. */
async function whileSending(work: () => Promise<void>): Promise<void> {
  const senders = openSenders(api.app, default_settings);
  const iterate = () => senders.startDue();
  const loop = runLoop(api.app, { name: "senders", channel: "chat_work", poll_ms: 50, iterate });
  try {
    await work();
  } finally {
    await loop.stop();
    await senders.stop();
  }
}

async function applyWebhook(body: string): Promise<void> {
  await api.app.webhookReceiver.take("whatsapp", body);
  await applyWebhooks(api.app, new AbortController().signal);
}

test("a test event names the callback endpoint that it was requested for", async () => {
  const url = "http://127.0.0.1:1/callbacks";
  ({ id: endpoint_id } = await request("POST", "/callbacks/endpoints", { url }));
  await request("POST", `/callbacks/endpoints/${endpoint_id}/test`);
  assert.deepEqual(
    (await eventsOf("callback.test")).map(({ data }) => data.endpoint_id),
    [endpoint_id],
  );
});

test("creating and changing a lead records an event in the same transaction", async () => {
  const leads = `/crm/workspaces/${account.workspace_id}/leads`;
  const lead = await request("POST", `${leads}/create`, { phone: "9876543210", name: "Ada" });
  await assertWrittenWith("lead.created", "leads", `r.id = ${lead.id}`);
  await request("PATCH", `${leads}/${lead.id}`, { name: "Ada L." });
  await assertWrittenWith("lead.updated", "leads", `r.id = ${lead.id}`);
  const [{ data: created } = assert.fail()] = await eventsOf("lead.created");
  assert.deepEqual([created.id, created.name, created.phone], [lead.id, "Ada", "9876543210"]);
  const [{ data: updated } = assert.fail()] = await eventsOf("lead.updated");
  assert.deepEqual([updated.id, updated.name, updated.changed], [lead.id, "Ada L.", ["name"]]);
});

test("the events of a chat campaign carry its name, its completion carries its counts, and each message's status is recorded while an endpoint subscribes to it", async () => {
  const [read, failed, refused, skipped] = Array.from({ length: 4 }, newPhone) as [
    string,
    ...string[],
  ];
  refusals.set(refused!, 131026);
  const contacts = [read, failed, refused, skipped, newPhone()].map((phone) => ({
    phone_number: phone,
  }));
  const { id } = await createCampaign({ contacts: [...contacts, { phone_number: "12" }] });
  const campaign = { campaign_id: id, name: "Spring" };
  for (const type of ["chat.campaign.created", "chat.campaign.started"] as const)
    await assertWrittenWith(type, "chat_campaigns", `r.id = ${id}`);
  assert.deepEqual(
    (await eventsOf("chat.campaign.created")).map(({ data }) => data),
    [
      {
        ...campaign,
        status: "running",
        total_contacts: 5,
        trimmed: { invalid: 1, duplicate: 0, blacklisted: 0 },
        scheduled_at: null,
      },
    ],
  );
  await request("POST", `/chat/campaigns/${id}/pause`);
  await assertWrittenWith("chat.campaign.paused", "chat_holds", `r.subject_id = ${id}`);
  assert.deepEqual((await eventsOf("chat.campaign.paused"))[0]!.data, {
    ...campaign,
    paused_reason: "manual",
  });
  await request("POST", `/chat/campaigns/${id}/resume`);
  await request("POST", "/suppressions", {
    phone_number: skipped,
    channel: "chat",
    reason: "asked",
  });
  await whileSending(() =>
    eventually(async () => (await statusOf(`/chat/campaigns/${id}`)) === "completed"),
  );
  await assertWrittenWith(
    "chat.campaign.completed",
    "credit_reservations",
    `r.subject = 'chat_campaign:${id}'`,
  );
  const counts = { sent_count: 3, delivered_count: 0, read_count: 0, failed_count: 2 };
  assert.deepEqual((await eventsOf("chat.campaign.completed"))[0]!.data, {
    ...campaign,
    total_contacts: 5,
    ...counts,
  });

  const at = "2026-11-20T10:00:00.000Z";
  const report = async (phone: string, status: TestStatus["status"], code?: number) => {
    const { message_id } = sent.find(({ to }) => to === phone)!;
    const delivery = { id: `wamid.${message_id}`, message_id, status, at: new Date(at) };
    await applyWebhook(
      statusHook(number, [{ ...delivery, ...(code === undefined ? {} : { code }) }]),
    );
    const of = `r.campaign_id = ${id} and r.phone = '${phone}'`;
    await assertWrittenWith(`chat.message.${status}`, "chat_recipients", of);
  };
  await report(read, "sent");
  await report(read, "delivered");
  await report(read, "read");
  await report(failed!, "failed", 131026);
  const messages = async (type: EventType) =>
    (await eventsOf(type)).map(({ data: { recipient_id: _id, campaign_id, ...data } }) => {
      assert.equal(campaign_id, id);
      return data;
    });
  const idOf = (phone: string) => `wamid.${sent.find(({ to }) => to === phone)!.message_id}`;
  for (const status of ["sent", "delivered", "read"] as const)
    assert.deepEqual(await messages(`chat.message.${status}`), [
      {
        phone_number: read,
        bsuid: null,
        status,
        provider_message_id: idOf(read),
        error_code: null,
        error: null,
        at,
      },
    ]);
  const failures = (await messages("chat.message.failed")).map(({ at: _at, ...data }) => data);
  assert.deepEqual(
    failures.toSorted((a, b) => (a.phone_number < b.phone_number ? -1 : 1)),
    [
      {
        phone_number: failed,
        bsuid: null,
        status: "failed",
        provider_message_id: idOf(failed!),
        error_code: 131026,
        error: "undeliverable",
      },
      {
        phone_number: refused,
        bsuid: null,
        status: "failed",
        provider_message_id: null,
        error_code: 131026,
        error: "undeliverable",
      },
      {
        phone_number: skipped,
        bsuid: null,
        status: "skipped",
        provider_message_id: null,
        error_code: null,
        error: "suppressed",
      },
    ],
  );

  await request("POST", `/chat/campaigns/${id}/retry`, { errors: ["undeliverable"] });
  await assertWrittenWith("chat.campaign.retried", "chat_campaigns", `r.id = ${id}`);
  assert.deepEqual((await eventsOf("chat.campaign.retried"))[0]!.data, { ...campaign, retried: 2 });
  await whileSending(() =>
    eventually(async () => (await statusOf(`/chat/campaigns/${id}`)) === "completed"),
  );
});

test("the start of a scheduled campaign, a cancellation and a failure record events", async () => {
  const scheduled_at = new Date(api.clock.now().getTime() + 3_600_000).toISOString();
  const { id } = await createCampaign({ name: "Later", scheduled_at });
  assert.deepEqual(
    (await eventsOf("chat.campaign.created")).at(-1)!.data.scheduled_at,
    scheduled_at,
  );
  assert.notEqual((await eventsOf("chat.campaign.started")).at(-1)!.data.campaign_id, id);
  const { account_id } = account;
  await startCampaign(api.app, { account_id, subject: String(id) });
  await assertWrittenWith("chat.campaign.started", "chat_campaigns", `r.id = ${id}`);
  await request("POST", `/chat/campaigns/${id}/cancel`);
  await assertWrittenWith("chat.campaign.cancelled", "chat_campaigns", `r.id = ${id}`);
  for (const type of ["chat.campaign.started", "chat.campaign.cancelled"] as const)
    assert.deepEqual((await eventsOf(type)).at(-1)!.data, { campaign_id: id, name: "Later" });

  const phone_number = newPhone();
  refusals.set(phone_number, 132001);
  const failing = await createCampaign({ name: "Unusable", contacts: [{ phone_number }] });
  await whileSending(() =>
    eventually(async () => (await statusOf(`/chat/campaigns/${failing.id}`)) === "failed"),
  );
  const [{ data } = assert.fail()] = await eventsOf("chat.campaign.failed");
  assert.deepEqual(data, {
    campaign_id: failing.id,
    name: "Unusable",
    failure: "template_unusable",
  });
});

test("opt-outs by reply, preference or rejection record events, and so does the review of a template", async () => {
  const [replies, stops, refuses] = Array.from({ length: 3 }, newPhone) as [string, string, string];
  // Within the same second, the stop wins over a start.
  const at = new Date(Date.now() - 1_000);
  const stop = { id: unique("wamid"), from: replies, text: "STOP", at };
  await applyWebhook(messageHook(number, [stop]));
  await applyWebhook(preferenceHook(number, { from: stops, value: "stop" }));
  refusals.set(refuses, 131050);
  const { id } = await createCampaign({ contacts: [{ phone_number: refuses }] });
  await whileSending(() =>
    eventually(
      async () =>
        (await eventsOf("chat.optout")).length === 3 &&
        (await statusOf(`/chat/campaigns/${id}`)) === "completed",
    ),
  );
  for (const phone of [replies, stops, refuses]) await assertWrittenOnce("chat.optout", phone);
  await applyWebhook(messageHook(number, [{ id: unique("wamid"), from: replies, text: "START" }]));
  assert.equal((await eventsOf("chat.optin")).length, 1);
  assert.equal((await eventsOf("chat.reply.received")).length, 2);

  const waiting = await createCampaign({ name: "Waiting" });
  waiting_id = waiting.id;
  const review = (event: string, reason: string) => {
    const change = { message_template_id: provider_template_id, event, reason };
    return applyWebhook(changeHook(number, "message_template_status_update", change));
  };
  await review("PAUSED", "LOW_QUALITY");
  await assertWrittenWith("chat.template.updated", "chat_templates", `r.id = ${template_id}`);
  const [{ data } = assert.fail()] = await eventsOf("chat.template.updated");
  assert.deepEqual(
    [data.template_id, data.status, data.rejection_reason],
    [template_id, "PAUSED", "LOW_QUALITY"],
  );
  // The hold on the template pauses its campaigns; the sync after its approval resumes them.
  const campaign = { campaign_id: waiting.id, name: "Waiting" };
  const pause = { ...campaign, paused_reason: "template_paused" };
  assert.deepEqual((await eventsOf("chat.campaign.paused")).at(-1)!.data, pause);
  await review("APPROVED", "NONE");
  await request("POST", "/chat/templates/sync", { chat_number_id: number.id });
  assert.deepEqual((await eventsOf("chat.campaign.resumed")).at(-1)!.data, campaign);
});

test("each delivery status of a user's answer to a reply is recorded with it", async () => {
  const from = newPhone();
  const wrote = () =>
    applyWebhook(messageHook(number, [{ id: unique("wamid"), from, text: "Where is it?" }]));
  await wrote();
  const { data } = await request("GET", `/chat/replies?phone_number=${from}`);
  const answer = async () =>
    (await request("POST", `/chat/replies/${data[0].id}/answers`, { text: "Coming" })).message_id;
  const [read, failed] = [await answer(), await answer()];
  const report = (message_id: string, status: TestStatus["status"]) =>
    applyWebhook(
      statusHook(number, [
        {
          id: unique("wamid"),
          message_id,
          status,
          ...(status === "failed" ? { code: 131026 } : {}),
        },
      ]),
    );
  for (const status of ["sent", "delivered", "read"] as const) {
    await report(read, status);
    await assertWrittenWith(`chat.answer.${status}`, "chat_replies", `r.id = ${data[0].id}`);
  }
  await report(failed, "failed");
  const [event] = await eventsOf("chat.answer.failed");
  assert.deepEqual(
    [event!.data.message_id, event!.data.error, event!.data.error_code],
    [failed, "undeliverable", 131026],
  );
});

/** Asserts that the suppression and the event of a phone were written in one transaction, once. */
async function assertWrittenOnce(type: EventType, phone: string): Promise<void> {
  const { rows } = await api.app.db.pool.query<{ same: boolean }>(
    `select e.xmin::text = s.xmin::text as same from events e
     join suppressions s on s.account_id = e.account_id and s.phone = e.data ->> 'phone_number'
     where e.account_id = $1 and e.type = $2 and s.phone = $3`,
    [account.account_id, type, phone],
  );
  assert.deepEqual(rows, [{ same: true }]);
}

test("low credit is recorded once, with the draw that caused it, and again after a grant raised it above the threshold", async () => {
  const own = await makeAccount(api.app);
  const { account_id } = own;
  const patched = await api.send("PATCH", "/api/v1/account", {
    token: own.token,
    json: { credits: { chat_low: 8, call_low: null } },
  });
  assert.deepEqual(patched.body.credits, { chat_low: 8, call_low: 0 });
  await makeCredits(api.app, own, { chat: 10, call: 2 });
  const draw = (amount: number, kind: "chat" | "call" = "chat") =>
    api.app.db.query
      .transaction()
      .execute((tx) =>
        reserveCredits(tx, { account_id, kind, subject: unique("drawn"), amount }, api.clock.now()),
      );
  const lows = async () => {
    const { rows } = await api.app.db.pool.query<RecordedEvent>(
      "select id, data from events where account_id = $1 and type = 'credit.low' order by id",
      [account_id],
    );
    return rows.map(({ data }) => [data.kind, data.available, data.threshold]);
  };
  await draw(2);
  assert.deepEqual(await lows(), [], "8 available is not below the threshold of 8");
  await draw(1);
  await draw(1);
  await draw(2, "call");
  assert.deepEqual(
    await lows(),
    [["chat", 7, 8]],
    "once, and never for call credit without a threshold",
  );
  await makeCredits(api.app, own, { chat: 1 });
  await draw(1);
  assert.deepEqual(await lows(), [["chat", 7, 8]], "7 available is still below the threshold");
  await makeCredits(api.app, own, { chat: 5 });
  await draw(4);
  assert.deepEqual(await lows(), [
    ["chat", 7, 8],
    ["chat", 7, 8],
  ]);
  await api.send("PATCH", "/api/v1/account", {
    token: own.token,
    json: { credits: { chat_low: 4 } },
  });
  await draw(2);
  await draw(2);
  assert.deepEqual(
    (await lows()).slice(2),
    [["chat", 3, 4]],
    "a lower threshold records another event",
  );
  await assert.rejects(draw(100), { type: "insufficient-credit" });
});

test("a voice campaign and its calls record events, and its completion carries its counts", async () => {
  const voice_file_id = await makeFullVoiceFile(api.app, account);
  const launch = async (more: object = {}) =>
    (
      await request("POST", "/voice/voiceCampaign", {
        campaign_name: "Delivery day",
        voice_file_id,
        call_type: "obd_voice_call",
        sendTo: "Numbers",
        number: "9001777701,9002777486",
        ...more,
      })
    ).campaignId as number;
  const id = await launch();
  for (const type of ["voice.campaign.created", "voice.campaign.started"] as const)
    await assertWrittenWith(type, "voice_campaigns", `r.id = ${id}`);
  await request("POST", `/voice/campaigns/${id}/pause`);
  await assertWrittenWith("voice.campaign.paused", "voice_holds", `r.campaign_id = ${id}`);
  await request("POST", `/voice/campaigns/${id}/resume`);
  const leaders = leadNodes(api.app);
  try {
    await eventually(async () => {
      await completeVoiceCampaigns(api.app);
      return (await statusOf(`/voice/campaigns/${id}`)) === "completed";
    });
  } finally {
    await leaders.stop();
  }
  await assertWrittenWith("voice.campaign.completed", "voice_campaigns", `r.id = ${id}`);
  const record = await request("GET", `/voice/campaigns/${id}`);
  const [{ data: completed } = assert.fail()] = await eventsOf("voice.campaign.completed");
  assert.deepEqual([completed.total, completed.answered, completed.busy], [2, 1, 1]);
  for (const key of Object.keys(completed)) assert.deepEqual(completed[key], record[key], key);
  const over = (await eventsOf("call.completed")).map(({ data }) => data);
  const answered = over.find(({ to_number }) => to_number === "9001777701")!;
  const { type, disposition, dtmf } = answered;
  assert.deepEqual([type, disposition, dtmf], ["voice_campaign", "answered", "1"]);
  await assertWrittenWith("call.completed", "calls", `r.id = ${over.at(-1)!.call_id}`);

  await request("POST", `/voice/campaigns/${id}/retry`, { outcomes: ["busy"] });
  await assertWrittenWith("voice.campaign.retried", "voice_campaigns", `r.id = ${id}`);
  const [{ data: retried } = assert.fail()] = await eventsOf("voice.campaign.retried");
  assert.deepEqual([retried.campaign_id, retried.retried], [id, 1]);

  const scheduled_at = new Date(api.clock.now().getTime() + 3_600_000).toISOString();
  const later = await launch({ schedulled_at: scheduled_at });
  const { account_id } = account;
  await startVoiceCampaign(api.app, { account_id, subject: String(later) });
  await assertWrittenWith("voice.campaign.started", "voice_campaigns", `r.id = ${later}`);
  await request("POST", `/voice/campaigns/${later}/cancel`);
  await assertWrittenWith("voice.campaign.cancelled", "voice_campaigns", `r.id = ${later}`);
});

test("a click-to-call records events, and its last one carries the fields of the call record", async () => {
  await makeExtension(api.app, account, "402");
  const leaders = leadNodes(api.app);
  try {
    const fields = {
      to_number: "9810777900",
      from_number: "302",
      reference: "order-7",
      remark: "late",
    };
    const campaign = await client.call(fields);
    const { call_id } = await client.awaitCall(campaign, "in-progress");
    const path = `/api/v1/calls/${call_id}`;
    await client.ask("POST", `${path}/transfer`, { extension: "402" });
    await eventually(async () => (await eventsOf("call.transferred")).length > 0);
    await client.ask("POST", `${path}/hangup`);
    const report = await client.awaitCall(campaign, "completed");
    const [{ data: end } = assert.fail()] = (await eventsOf("call.completed")).slice(-1);
    await assertWrittenWith("call.completed", "calls", `r.id = ${call_id}`);
    // Under the names of the call record.
    for (const key of Object.keys(end)) assert.deepEqual(end[key], report[key], key);
    assert.deepEqual([end.reference, end.remark, end.type], ["order-7", "late", "click_to_call"]);
    assert.equal(end.recording_url, `/api/v1/calls/${call_id}/recording`);
    const [{ data: ready } = assert.fail()] = await eventsOf("call.recording.ready");
    assert.deepEqual([ready.call_id, ready.recording_url], [call_id, end.recording_url]);
    const [{ data: moving } = assert.fail()] = await eventsOf("call.transferring");
    assert.deepEqual([moving.by, moving.to], ["api", "402"]);
  } finally {
    await leaders.stop();
  }
});

test("disabling an endpoint records an event, and message events are still recorded for a later replay", async () => {
  await request("PATCH", `/callbacks/endpoints/${endpoint_id}`, { enabled: false });
  await assertWrittenWith(
    "callback.endpoint.disabled",
    "callback_endpoints",
    `r.id = ${endpoint_id}`,
  );
  const before_it = (await eventsOf("chat.message.failed")).length;
  const skipped = await skipQueued(api.app.db.query, waiting_id);
  assert.ok(skipped > 0);
  assert.equal((await eventsOf("chat.message.failed")).length, before_it + skipped);
});

/** Skips queued recipients, as draining a failed campaign does; returns their number. */
async function skipQueued(db: Kysely<DB>, campaignId: number): Promise<number> {
  const { rows } = await sql`
    select from chat_move_recipients_json(${account.account_id}, 'controls', (
      select json_agg(json_build_object('campaign_id', r.campaign_id, 'id', r.id,
        'dispatches', r.dispatches, 'state', 'skipped'))
      from chat_recipients r
      where r.account_id = ${account.account_id} and r.campaign_id = ${campaignId} and r.state = 'queued'
    ), ${api.clock.now()})`.execute(db);
  return rows.length;
}

test("a rolled back transaction records no event", async () => {
  await request("PATCH", `/callbacks/endpoints/${endpoint_id}`, {
    enabled: true,
    types: ["chat.message.failed"],
  });
  const chat = await createCampaign({ name: "Undone" });
  const voice = await request("POST", "/voice/voiceCampaign", {
    campaign_name: "Undone",
    voice_file_id: await makeFullVoiceFile(api.app, account),
    call_type: "obd_voice_call",
    sendTo: "Numbers",
    number: "9003777486",
  });
  const { account_id, owner_id } = account;
  const countWithin = (db: Kysely<DB>) =>
    db
      .selectFrom("events")
      .select(({ fn }) => fn.countAll<number>().as("n"))
      .where("account_id", "=", account_id)
      .executeTakeFirstOrThrow();
  const { n: before_count } = await countWithin(api.app.db.query);
  const actor = { account_id, user_id: owner_id, token_id: null, request_id: "undone" };
  const now = api.clock.now();
  const undone = api.app.db.query.transaction().execute(async (tx) => {
    await skipQueued(tx, chat.id);
    await pauseChatCampaign(tx, actor, chat.id, now);
    await pauseVoiceCampaign(tx, actor, voice.campaignId, now);
    const { available } = (await request("GET", "/credits")).call;
    await reserveCredits(
      tx,
      { account_id, kind: "call", subject: unique("undone"), amount: available },
      now,
    );
    const { n } = await countWithin(tx);
    assert.equal(n, before_count + 4, "one event each");
    throw new Error("undone");
  });
  await assert.rejects(undone, { message: "undone" });
  assert.equal((await countWithin(api.app.db.query)).n, before_count);
});

test("a resumed voice campaign whose caller ID was removed from its trunk records its new caller ID", async () => {
  const voice_file_id = await makeFullVoiceFile(api.app, account);
  const { campaignId: id } = await request("POST", "/voice/voiceCampaign", {
    campaign_name: "Delivery day",
    voice_file_id,
    call_type: "obd_voice_call",
    sendTo: "Numbers",
    number: "9001777701",
  });
  await api.app.db.query
    .updateTable("voice_campaigns")
    .set({ caller_id: "9000000001" })
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .execute();
  await moveStrandedCampaigns(api.app);
  await request("POST", `/voice/campaigns/${id}/resume`);
  await assertWrittenWith("voice.campaign.trunk_changed", "voice_campaigns", `r.id = ${id}`);
  const [event] = await eventsOf("voice.campaign.trunk_changed");
  assert.equal(event!.data.previous_caller_id, "9000000001");
  await request("POST", `/voice/campaigns/${id}/cancel`);
});

test("an incoming call is recorded as missed, for the account that owns its trunk", async () => {
  const leaders = leadNodes(api.app);
  try {
    const node = { id: node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
    await sandbox.receiveCall(node, { endpoint: "sandbox", from: "+919812345678", to: "800" });
  } finally {
    await leaders.stop();
  }
  const [{ data } = assert.fail()] = await eventsOf("call.missed");
  assert.deepEqual([data.phone_number, data.called_number], ["919812345678", "800"]);
});

test("an incoming call to a number with a route is recorded when it is answered", async () => {
  const called = "918000000801";
  await makePhoneNumber(api.app, account, called);
  await request("PATCH", `/phone-numbers/${called}`, {
    agent_group_id: await makeAgentGroup(api.app, account),
  });
  const leaders = leadNodes(api.app);
  try {
    const node = { id: node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
    await sandbox.receiveCall(node, { endpoint: "sandbox", from: "+919812777901", to: called });
  } finally {
    await leaders.stop();
  }
  const [{ data } = assert.fail()] = await eventsOf("call.incoming");
  assert.deepEqual([data.from_number, data.to_number], [called, "9812777901"]);
});

test("every event type of the catalogue was recorded, with exactly the fields of its schema", async () => {
  const { rows } = await api.app.db.pool.query<{ type: EventType; data: object }>(
    "select type, data from events order by account_id, id",
  );
  assert.deepEqual(
    [...new Set(rows.map(({ type }) => type))].toSorted(),
    Object.keys(eventCatalogue).toSorted(),
  );
  for (const [type, { data: schema, summary }] of Object.entries(eventCatalogue)) {
    assert.match(summary, /^[A-Z].*\.$/);
    const closed = { ...schema, additionalProperties: false };
    const isDescribed = compileValidator({ schema: closed, httpPart: "body" });
    for (const { data } of rows.filter((row) => row.type === type))
      assert.ok(isDescribed(data), `${type}: ${JSON.stringify([data, isDescribed.errors])}`);
  }
});
