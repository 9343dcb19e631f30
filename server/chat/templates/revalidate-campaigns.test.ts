// A template that changes at the provider after a campaign was created from it.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeChatNumber, type TestChatNumber } from "../../../test/support/chat-factory.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { sandboxStub } from "../../../test/support/sandbox-stub.ts";
import { changeHook } from "../../../test/support/chat-webhooks.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openScriptedProvider } from "../../../test/support/scripted-provider.ts";
import type {
  ChatSender,
  Outgoing,
  ProviderTemplate,
  TemplateComponent,
} from "../../drivers/chat/driver.ts";
import { readWebhook } from "../../drivers/chat/meta/read-webhook.ts";
import { runLoop } from "../../engine/run-loop.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { default_settings } from "../../worker.ts";
import { startCampaign } from "../campaigns/start-campaign.ts";
import { applyWebhooks } from "../inbound/apply-webhooks.ts";
import { openSenders } from "../sender/open-senders.ts";
import { setTemplateStatus, type TemplateChange } from "./set-template-status.ts";
import { syncTemplatesDaily } from "./sync-templates.ts";

const provider = openScriptedProvider();
const sent: string[] = [];
const send = async ({ phone_number_id }: ChatSender, { message_id, to }: Outgoing) => {
  if (phone_number_id === number.provider_phone_number_id) sent.push(to);
  return { provider_message_id: `wamid.${message_id}` };
};
let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;

before(async () => {
  const whatsapp = { ...provider.driver, readWebhook, send };
  api = await startApi({ chatDrivers: { sandbox: sandboxStub, whatsapp } });
});
after(() => api.close());
beforeEach(async () => {
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 100 });
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
});

const body = (text: string): TemplateComponent => ({ type: "BODY", text });
const template: ProviderTemplate = {
  provider_template_id: "1",
  name: "offer",
  language: "en",
  category: "MARKETING",
  parameter_format: "POSITIONAL",
  components: [body("Hello {{1}}")],
  status: "APPROVED",
  quality: "GREEN",
  rejection_reason: null,
};

const request = async (method: string, path: string, json?: unknown) => {
  const headers = { "idempotency-key": unique("key") };
  return api.send(method, `/api/v1/chat${path}`, { token: account.token, json, headers });
};

/** Lets the provider have this template and syncs. */
async function sync(change: Partial<ProviderTemplate> = {}): Promise<void> {
  provider.templates = [{ ...template, provider_template_id: unique("pt"), ...change }];
  const { status, text } = await request("POST", "/templates/sync", { chat_number_id: number.id });
  assert.equal(status, 200, text);
}

async function templateId(): Promise<number> {
  return (await request("GET", "/templates")).body.data[0].id;
}

const scheduled_at = "2099-01-31T09:30:00.000Z";

/** Creates a campaign for two people from the synced template. */
async function create(more: object = {}): Promise<number> {
  const contacts = ["919812345678", "919812345679"].map((phone_number) => ({
    phone_number,
    variables: { "1": "Ada" },
  }));
  const fields = { name: "Spring", chat_number_id: number.id, template_id: await templateId() };
  const answer = await request("POST", "/campaigns", { ...fields, contacts, ...more });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
}

/** Returns the status, the reason of a pause and the details of its holds. */
async function statusOf(id: number) {
  const { status, paused_reason, holds } = (await request("GET", `/campaigns/${id}`)).body;
  return [status, paused_reason, holds.map(({ detail }: { detail: string }) => detail)];
}

const start = (id: number) =>
  startCampaign(api.app, { account_id: account.account_id, subject: String(id) });

async function eventTypes(): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account.account_id)
    .where("type", "like", "chat.campaign.%")
    .orderBy("id")
    .execute();
  return rows.map(({ type }) => type.slice("chat.campaign.".length));
}

const changed = "the values of the template's body changed from {{1}} to {{1}}, {{2}}";

test("a sync pauses scheduled and running campaigns that no longer fit their template, and resumes them once they fit again", async () => {
  await sync();
  const later = await create({ scheduled_at });
  const running = await create();
  await sync({ components: [body("Dear {{1}}")] });
  assert.deepEqual(await statusOf(later), ["scheduled", null, []]);
  await sync({ components: [body("Hello {{1}}, order {{2}}")] });
  for (const id of [later, running])
    assert.deepEqual(await statusOf(id), ["paused", "template_changed", [changed]]);
  const resumed = await request("POST", `/campaigns/${running}/resume`);
  assert.equal(resumed.body.status, "paused", "a resume does not send what cannot be sent");
  const notified: string[] = [];
  api.app.notifications.on("chat_work", (subject) => notified.push(subject));
  await sync();
  assert.deepEqual(await statusOf(later), ["scheduled", null, []]);
  assert.deepEqual(await statusOf(running), ["running", null, []]);
  assert.ok(notified.includes(`${account.account_id}:${number.id}`));
  const types = await eventTypes();
  assert.deepEqual(types.filter((type) => type === "paused").length, 2);
  assert.ok(types.includes("resumed"));
});

test("a campaign whose template changed after it was scheduled starts paused, with the reason", async () => {
  await sync();
  const id = await create({ scheduled_at });
  // As a change that was stored without a sync.
  await api.app.db.query
    .updateTable("chat_templates")
    .set({ components: JSON.stringify([body("Hello {{1}}, order {{2}}")]) })
    .where("account_id", "=", account.account_id)
    .execute();
  await start(id);
  assert.deepEqual(await statusOf(id), ["paused", "template_changed", [changed]]);
  assert.deepEqual(await eventTypes(), ["created", "started", "paused"]);
  await api.app.db.query
    .updateTable("chat_templates")
    .set({ components: JSON.stringify(template.components) })
    .where("account_id", "=", account.account_id)
    .execute();
  const resumed = await request("POST", `/campaigns/${id}/resume`);
  assert.equal(resumed.body.status, "running", "a resume validates the template again");
});

test("a campaign whose template changes while it is created is refused, with the reason", async () => {
  await sync();
  const { query } = api.app.db;
  const template_id = await templateId();
  const contacts = [{ phone_number: "919812345678", variables: { "1": "Ada" } }];
  const fields = { name: "Spring", chat_number_id: number.id, template_id, contacts };
  const { creating } = await query.transaction().execute(async (tx) => {
    // The creation locks the number when it has made its plan.
    await tx
      .selectFrom("chat_numbers")
      .select("id")
      .where("account_id", "=", account.account_id)
      .where("id", "=", number.id)
      .forUpdate()
      .execute();
    const waiting = request("POST", "/campaigns", fields);
    await awaitsLock(query);
    await sync({ components: [body("Hello {{1}}, order {{2}}")] });
    return { creating: waiting };
  });
  const { status, body: refused } = await creating;
  assert.equal(status, 422);
  const reason = `was just changed: ${changed}`;
  assert.deepEqual(refused.errors, [{ field: "template_id", reason }]);
  assert.deepEqual(await eventTypes(), []);
});

test("a campaign whose template is being reviewed again starts paused and continues once it is approved", async () => {
  await sync();
  const id = await create({ scheduled_at });
  await sync({ status: "PENDING" });
  await start(id);
  assert.deepEqual(await statusOf(id), ["paused", "template_paused", ["is being reviewed"]]);
  await sync();
  assert.deepEqual(await statusOf(id), ["running", null, []]);
});

test("a template that is not approved at the start of a campaign holds it, also after its hold was lifted by hand", async () => {
  await sync();
  const id = await create({ scheduled_at });
  await sync({ status: "PAUSED" });
  const lifted = await request("POST", "/holds/lift", {
    scope: "template",
    subject_id: await templateId(),
    reason: "template_paused",
  });
  assert.equal(lifted.status, 204, lifted.text);
  await start(id);
  assert.deepEqual((await statusOf(id)).slice(0, 2), ["paused", "template_paused"]);
});

test("a campaign whose template is edited and approved again sends nothing that does not fit the new content", async (t) => {
  const post = async (field: string, value: object = {}) => {
    const names = { message_template_name: template.name, message_template_language: "en" };
    await api.app.webhookReceiver.take(
      "whatsapp",
      changeHook(number, field, { ...names, ...value }),
    );
    await applyWebhooks(api.app, new AbortController().signal);
  };
  const status = (event: string) => post("message_template_status_update", { event });
  const work = () => {
    const handlers = { "chat.sync_templates": syncTemplatesDaily };
    return workJobs(api.app, handlers, new AbortController().signal);
  };
  const edit = (text: string) => {
    provider.templates = [{ ...provider.templates[0]!, components: [body(text)] }];
  };
  await sync();
  const id = await create();
  await status("PENDING");
  const senders = openSenders(api.app, default_settings);
  const iterate = () => senders.startDue();
  const loop = runLoop(api.app, { name: "senders", channel: "chat_work", poll_ms: 50, iterate });
  t.after(async () => {
    await loop.stop();
    await senders.stop();
  });
  edit("Hello {{1}}, order {{2}}");
  await status("APPROVED");
  assert.deepEqual((await statusOf(id)).slice(0, 2), ["paused", "template_paused"]);
  assert.equal(await work(), 1);
  assert.deepEqual(await statusOf(id), ["paused", "template_changed", [changed]]);
  assert.deepEqual(sent, []);
  edit("Dear {{1}}");
  await post("message_template_components_update");
  assert.equal(await work(), 1);
  await eventually(async () => sent.length === 2);
  assert.equal((await eventTypes()).filter((type) => type === "resumed").length, 1);
});

test("a campaign that starts while its template is approved again is not held", async () => {
  await sync();
  const id = await create({ scheduled_at });
  const template_id = await templateId();
  const { account_id } = account;
  const { query } = api.app.db;
  const now = api.app.clock.now();
  const key = { account_id, template_id };
  await query
    .transaction()
    .execute((tx) => setTemplateStatus(tx, key, { status: "PAUSED", reason: "low quality" }, now));
  const { starting } = await query.transaction().execute(async (tx) => {
    await setTemplateStatus(tx, key, { status: "APPROVED", asked_at: now }, now);
    const waiting = start(id);
    await awaitsLock(query);
    return { starting: waiting };
  });
  await starting;
  assert.deepEqual(await statusOf(id), ["running", null, []]);
});

test("an approval locks its campaigns in the order of their IDs, so that it cannot deadlock", async () => {
  await sync();
  const first = await create();
  const second = await create();
  const template_id = await templateId();
  const { account_id } = account;
  const { query } = api.app.db;
  const now = api.app.clock.now();
  const key = { account_id, template_id };
  const set = (change: TemplateChange) =>
    query.transaction().execute((tx) => setTemplateStatus(tx, key, change, now));
  await set({ status: "PAUSED" });
  await query
    .insertInto("chat_holds")
    .values({
      account_id,
      scope: "campaign",
      subject_id: second,
      reason: "template_changed",
      set_at: now,
    })
    .execute();
  const { approving } = await query.transaction().execute(async (tx) => {
    const lock = (id: number) =>
      tx
        .selectFrom("chat_campaigns")
        .select("id")
        .where("account_id", "=", account_id)
        .where("id", "=", id)
        .forNoKeyUpdate()
        .execute();
    await lock(first);
    const waiting = set({ status: "APPROVED", asked_at: now });
    await awaitsLock(query);
    await lock(second);
    return { approving: waiting };
  });
  await approving;
  for (const id of [first, second]) assert.deepEqual(await statusOf(id), ["running", null, []]);
});

test("a template with a part that campaigns cannot fill is listed with it, and refused with the reason", async () => {
  const carousel = { type: "CAROUSEL", cards: [] };
  await sync({ components: [body("Hello {{1}}"), carousel] });
  const [listed] = (await request("GET", "/templates")).body.data;
  assert.deepEqual([listed.status, listed.unsupported], ["APPROVED", "a CAROUSEL"]);
  const fields = { name: "Spring", chat_number_id: number.id, template_id: listed.id };
  const contacts = [{ phone_number: "919812345678" }];
  const reason = "is a template that has a CAROUSEL, which campaigns cannot fill";
  const refused = await request("POST", "/campaigns", { ...fields, contacts });
  assert.equal(refused.status, 422, refused.text);
  assert.deepEqual(refused.body.errors, [{ field: "template_id", reason }]);
  const { name: _, ...message } = fields;
  const tested = await request("POST", "/campaigns/test", {
    ...message,
    phone_number: "919812345678",
  });
  assert.deepEqual(tested.body.errors, [{ field: "template_id", reason }]);
  await sync({ components: [{ type: "HEADER", format: "LOCATION" }, body("Hello {{1}}")] });
  const again = await request("POST", "/campaigns", { ...fields, contacts });
  assert.match(again.body.errors[0].reason, /a LOCATION header/);
});

test("a campaign is neither created nor started with a header's file that the provider has deleted after 30 days", async (t) => {
  t.after(() => api.clock.set(new Date()));
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  await sync({ components: [{ type: "HEADER", format: "IMAGE" }, body("Hello {{1}}")] });
  const template_id = await templateId();
  const giveFile = async (id: string) =>
    assert.equal(
      (await request("PATCH", `/templates/${template_id}`, { header_media: { id } })).status,
      200,
    );
  await giveFile("media-1");
  const id = await create({ scheduled_at: inDays(29).toISOString() });
  const fields = { name: "Late", chat_number_id: number.id, template_id };
  const contacts = [{ phone_number: "919812345678", variables: { "1": "Ada" } }];
  const late = await request("POST", "/campaigns", {
    ...fields,
    contacts,
    scheduled_at: inDays(31).toISOString(),
  });
  assert.equal(late.status, 422);
  assert.match(late.body.errors[0].reason, /upload it again and set its header_media/);
  api.clock.set(inDays(31));
  await giveFile("media-2");
  await start(id);
  const [status, reason, [detail]] = await statusOf(id);
  assert.deepEqual([status, reason], ["paused", "template_changed"]);
  assert.match(detail, /the provider has deleted the header's file/);
  assert.deepEqual(await statusOf(await create()), ["running", null, []]);
});
