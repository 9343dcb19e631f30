import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits, unique } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeChatNumber } from "../../../test/support/chat-factory.ts";
import {
  messageHook,
  openTestWhatsapp,
  signatureOf,
  statusHook,
  type TestStatus,
} from "../../../test/support/chat-webhooks.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { ChatSendError, type ChatDriver } from "../../drivers/chat/driver.ts";
import { openSandboxDriver } from "../../drivers/chat/sandbox/open-sandbox-driver.ts";
import { replyEvent } from "../../drivers/chat/sandbox/sandbox-webhook.ts";
import { applyWebhooks } from "../inbound/apply-webhooks.ts";

let api: TestApi;
/** How the provider takes the next messages. */
let send: ChatDriver["send"];

const accept: ChatDriver["send"] = async (_from, { message_id }) => ({
  provider_message_id: `wamid.${message_id}`,
});
const sandbox = openSandboxDriver({
  deliver: (webhook) => void api.app.webhookReceiver.take("sandbox", JSON.stringify(webhook)),
  delays: { sent_ms: 20, delivered_ms: 40, read_ms: 60, reply_ms: 80 },
});

before(async () => {
  const whatsapp = { ...openTestWhatsapp(), send: ((...of) => send(...of)) as ChatDriver["send"] };
  api = await startApi({ chatDrivers: { whatsapp, sandbox } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

const apply = () => applyWebhooks(api.app, new AbortController().signal);

/** An account with a reply, whose answers are sent with `send`. */
async function openInbox(driver: "whatsapp" | "sandbox" = "whatsapp") {
  send = accept;
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10 });
  const number = await makeChatNumber(api.app, account, { driver });
  const from = "919811111111";
  const text = "Where is my order?";
  const { provider_phone_number_id: phone_number_id, business_account_id } = number;
  const message = { provider_message_id: unique("message"), message_id: "", to: from };
  const received =
    driver === "whatsapp"
      ? messageHook(number, [{ id: unique("wamid"), from, text }])
      : JSON.stringify({
          object: "trunkline_sandbox",
          phone_number_id,
          business_account_id,
          reports: [replyEvent(message, text, api.clock.now())],
        });
  await api.app.webhookReceiver.take(driver, received);
  await apply();
  const ask = (method: string, path: string, json?: unknown) =>
    api.send(method, `/api/v1${path}`, { token: account.token, json });
  const reply = async () => (await ask("GET", "/chat/replies")).body.data[0];
  const { id } = await reply();
  return {
    account,
    /** Sends an answer; returns our ID of it. */
    answer: async (): Promise<string> =>
      (await ask("POST", `/chat/replies/${id}/answers`, { text: "On its way" })).body.message_id,
    answers: async () => (await reply()).answers,
    credit: async () => (await ask("GET", "/credits")).body.chat.available as number,
    timeline: async () =>
      (await ask("GET", `/people/timeline?phone_number=${from}&kinds=answer`)).body.data,
    events: async () => {
      const { rows } = await api.app.db.pool.query<{ type: string; data: { message_id: string } }>(
        "select type, data from events where account_id = $1 and type like 'chat.answer.%' order by id",
        [account.account_id],
      );
      return rows;
    },
    /** Posts Meta's signed webhook, as it comes from the internet, and applies it. */
    report: async (...statuses: TestStatus[]) => {
      const raw = statusHook(number, statuses);
      const headers = {
        "content-type": "application/json",
        "x-hub-signature-256": signatureOf(raw),
      };
      assert.equal((await api.send("POST", "/hooks/whatsapp", { raw, headers })).status, 200);
      await apply();
    },
  };
}

const statusOf = (
  message_id: string,
  status: TestStatus["status"],
  more: Partial<TestStatus> = {},
): TestStatus => ({
  id: `wamid.${message_id}`,
  message_id,
  status,
  ...(status === "failed" ? { code: 131026 } : {}),
  ...more,
});

test("an answer shows how far it came, in its reply, the person's timeline and events, and never goes back", async () => {
  const inbox = await openInbox();
  const first = await inbox.answer();
  const second = await inbox.answer();
  const shown = async () =>
    (await inbox.answers()).map((one: { status: string | null }) => one.status);
  assert.deepEqual(await shown(), [null, null]);
  const at = new Date("2026-01-02T03:04:05Z");
  await inbox.report(statusOf(first, "delivered", { at }), statusOf(first, "sent"));
  assert.deepEqual(await shown(), ["delivered", null]);
  assert.equal((await inbox.answers())[0].status_at, "2026-01-02T03:04:05.000Z");
  await inbox.report(statusOf(second, "sent"));
  await inbox.report(statusOf(first, "read"), statusOf(second, "delivered"));
  // Late and repeated statuses change nothing, and are no events.
  for (const status of ["sent", "delivered", "failed", "read"] as const)
    await inbox.report(statusOf(first, status));
  assert.deepEqual(await shown(), ["read", "delivered"]);
  assert.deepEqual(
    (await inbox.timeline()).map(({ event }: { event: string }) => event),
    ["delivered", "read"],
  );
  const events = await inbox.events();
  const typesOf = (message_id: string) =>
    events.filter(({ data }) => data.message_id === message_id).map(({ type }) => type);
  assert.deepEqual(typesOf(first), ["chat.answer.delivered", "chat.answer.read"]);
  assert.deepEqual(typesOf(second), ["chat.answer.sent", "chat.answer.delivered"]);
  assert.equal(await inbox.credit(), 8);
});

test("an answer that the provider accepted and then failed to deliver names the reason and costs nothing, also if reported twice", async () => {
  const inbox = await openInbox();
  const id = await inbox.answer();
  assert.equal(await inbox.credit(), 9);
  await inbox.report(statusOf(id, "failed"));
  await inbox.report(statusOf(id, "failed"), statusOf(id, "sent"));
  const [{ outcome, status, error }] = await inbox.answers();
  assert.deepEqual([outcome, status, error], ["failed", "failed", "undeliverable"]);
  assert.equal(await inbox.credit(), 10);
  assert.equal((await inbox.events()).length, 1);
  await checkLedger(api.app.db.pool);
});

test("a delivery status resolves an answer whose outcome was unknown", async () => {
  const inbox = await openInbox();
  send = () => Promise.reject(new ChatSendError("unknown", "it timed out"));
  const id = await inbox.answer();
  assert.equal((await inbox.answers())[0].outcome, "unknown");
  await inbox.report(statusOf(id, "delivered"));
  const [{ outcome, status, error }] = await inbox.answers();
  assert.deepEqual([outcome, status, error], ["accepted", "delivered", null]);
});

test("a status that arrives before the provider's response is kept", async () => {
  const inbox = await openInbox();
  send = async (_from, { message_id }) => {
    await inbox.report(statusOf(message_id, "read"));
    return { provider_message_id: `wamid.${message_id}` };
  };
  await inbox.answer();
  assert.equal((await inbox.answers())[0].status, "read");
});

test("another account's statuses and those of an unknown answer change nothing", async () => {
  const inbox = await openInbox();
  const other = await openInbox();
  const id = await inbox.answer();
  await other.report(statusOf(id, "read"));
  await inbox.report(statusOf(id.replace(/.{4}$/, "0000"), "read"));
  assert.equal((await inbox.answers())[0].status, null);
  assert.deepEqual([...(await inbox.events()), ...(await other.events())], []);
});

test("the sandbox reports an answer as read within seconds", async () => {
  const inbox = await openInbox("sandbox");
  await inbox.answer();
  await eventually(async () => {
    await apply();
    return (await inbox.answers())[0].status === "read";
  });
});
