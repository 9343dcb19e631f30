import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-makers.ts";
import { checkLedger } from "../../../test/support/check-books.ts";
import {
  makeScene,
  startSceneApi,
  type ChatScene,
  type SceneApi,
} from "../../../test/support/chat-scene.ts";
import { makeAccount } from "../../../test/support/makers.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { addJob } from "../../engine/add-job.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { hold } from "../holds/holds.ts";
import { readMessageId } from "../messages/message-id.ts";
import { notifyCall } from "./notify-call.ts";

const phone = "919811111111";
const going = new AbortController().signal;

let shared: SceneApi;
before(async () => {
  shared = await startSceneApi();
});
after(() => shared.api.close());

type Notice = { chat_number_id: number | null; template_id: number | null };

async function name(scene: ChatScene, { chat_number_id, template_id }: Notice): Promise<void> {
  await scene.app.db.query
    .updateTable("accounts")
    .set({
      call_notice_chat_number_id: chat_number_id,
      call_notice_template_id: template_id,
    })
    .where("account_id", "=", scene.account.account_id)
    .execute();
}

/** A scene whose account names its template for calls. */
async function noticing(t: Parameters<typeof makeScene>[0]): Promise<ChatScene> {
  const scene = await makeScene(t, shared);
  await name(scene, { chat_number_id: scene.number.id, template_id: scene.template_id });
  return scene;
}

/** Runs the job of one campaign, as a worker does; it must end. */
async function notify({ app, account }: ChatScene, campaign_id = 7): Promise<void> {
  const now = app.clock.now();
  const { account_id } = account;
  const subject = `call_campaign:${campaign_id}`;
  const payload = { phone, campaign_id };
  const job = { account_id, kind: "chat.notify_call", subject, run_at: now, payload } as const;
  await addJob(app.db.query, job, now);
  await workJobs(app, { "chat.notify_call": notifyCall }, going);
  const left = await app.db.query
    .selectFrom("jobs")
    .select("id")
    .where("account_id", "=", account_id)
    .execute();
  assert.deepEqual(left, []);
}

async function credits({ api, account }: ChatScene): Promise<number> {
  const { chat } = (await api.send("GET", "/api/v1/credits", account)).body;
  assert.equal(chat.reserved, 0);
  return chat.available;
}

async function assertNothingSent(scene: ChatScene): Promise<void> {
  await notify(scene);
  assert.deepEqual(scene.provider.sent, []);
  assert.equal(await credits(scene), 100_000);
}

test("the customer of a call gets the account's template for one credit, and it is nobody's campaign", async (t) => {
  const scene = await noticing(t);
  await notify(scene);
  const [sent] = scene.provider.sent;
  assert.equal(sent!.outgoing.to, phone);
  assert.match(JSON.stringify(sent!.outgoing.message), /"text":"there"/);
  assert.equal(readMessageId(sent!.outgoing.message_id), null);
  assert.equal(await credits(scene), 99_999);
  assert.deepEqual((await scene.ask("GET", "")).body.data, []);
  await checkLedger(scene.app.db.pool);
});

test("a job that comes twice sends once; another campaign's sends its own", async (t) => {
  const scene = await noticing(t);
  await notify(scene, 7);
  await notify(scene, 7);
  assert.equal(scene.provider.sent.length, 1);
  await notify(scene, 8);
  const ids = scene.provider.sent.map(({ outgoing }) => outgoing.message_id);
  assert.equal(new Set(ids).size, 2);
  assert.equal(await credits(scene), 99_998);
});

test("a message that the provider refused costs nothing, one nobody can tell of stays paid; neither is sent again", async (t) => {
  const scene = await noticing(t);
  scene.provider.answer = () =>
    Promise.reject(new ChatSendError("rejected", "no", { code: 131026 }));
  await notify(scene, 7);
  await notify(scene, 7);
  assert.equal(scene.provider.sent.length, 1);
  assert.equal(await credits(scene), 100_000);
  scene.provider.answer = () => Promise.reject(new ChatSendError("unknown", "silence"));
  await notify(scene, 8);
  await notify(scene, 8);
  assert.equal(scene.provider.sent.length, 2);
  assert.equal(await credits(scene), 99_999);
  await checkLedger(scene.app.db.pool);
});

test("without a template, a number, a value for its variable or credit nothing is sent, and the job is done", async (t) => {
  const scene = await noticing(t);
  const { app, account, number, template_id } = scene;
  await name(scene, { chat_number_id: null, template_id: null });
  await assertNothingSent(scene);
  await name(scene, { chat_number_id: number.id, template_id: 999_999_999 });
  await assertNothingSent(scene);
  const paused = await makeChatTemplate(app, account, number, { status: "PAUSED" });
  await name(scene, { chat_number_id: number.id, template_id: paused });
  await assertNothingSent(scene);
  const bare = await makeChatTemplate(app, account, number, { variable_defaults: {} });
  await name(scene, { chat_number_id: number.id, template_id: bare });
  await assertNothingSent(scene);
  const inactive = await makeChatNumber(app, account, { active: false });
  const its = await makeChatTemplate(app, account, inactive);
  await name(scene, { chat_number_id: inactive.id, template_id: its });
  await assertNothingSent(scene);
  const far = await makeChatNumber(app, account, { driver: "whatsapp" });
  const theirs = await makeChatTemplate(app, account, far, { driver: "whatsapp" });
  await name(scene, { chat_number_id: far.id, template_id: theirs });
  await assertNothingSent(scene);
  await name(scene, { chat_number_id: number.id, template_id });
  await app.db.pool.query(
    "update credit_balances set available = 0 where account_id = $1 and kind = 'chat'",
    [account.account_id],
  );
  await notify(scene);
  assert.deepEqual(scene.provider.sent, []);
  await app.db.pool.query(
    "update credit_balances set available = 100000 where account_id = $1 and kind = 'chat'",
    [account.account_id],
  );
});

test("a suppressed customer gets nothing, and nobody does while the account is held or quiet", async (t) => {
  const suppressed = await noticing(t);
  await makeSuppression(suppressed.app, suppressed.account, phone, { channel: "all" });
  await assertNothingSent(suppressed);

  const held = await noticing(t);
  const { account_id } = held.account;
  const manual = { scope: "account", subject_id: 0, reason: "manual", detail: null } as const;
  await held.app.db.query
    .transaction()
    .execute((tx) => hold(tx, { account_id, ...manual }, held.app.clock.now()));
  await assertNothingSent(held);

  const quiet = await noticing(t);
  await quiet.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "UTC", chat_quiet_from: "00:00", chat_quiet_to: "23:59:59.999999" })
    .where("account_id", "=", quiet.account.account_id)
    .execute();
  await assertNothingSent(quiet);
});

test("a customer who is kept from calls alone gets the message, of no other account's template", async (t) => {
  const scene = await noticing(t);
  await makeSuppression(scene.app, scene.account, phone, { channel: "voice" });
  await notify(scene);
  assert.equal(scene.provider.sent.length, 1);
  const other = await makeAccount(scene.app);
  await name(
    { ...scene, account: other },
    { chat_number_id: scene.number.id, template_id: scene.template_id },
  );
  await notify({ ...scene, account: other });
  assert.equal(scene.provider.sent.length, 1);
});
