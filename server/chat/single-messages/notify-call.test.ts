import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-factory.ts";
import { testClock } from "../../../test/support/clock.ts";
import { whileBalanceIsLocked } from "../../../test/support/balance-lock.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import {
  openChatFixture,
  requireMarketing,
  startChatFixtureApi,
  takeMessage,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { addJob } from "../../engine/add-job.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { hold, holdsOf } from "../holds/holds.ts";
import { endThrottling } from "../numbers/end-throttling.ts";
import { readMessageId } from "../messages/message-id.ts";
import { notifyCall } from "./notify-call.ts";

const phone = "919811111111";
const going = new AbortController().signal;

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

type Notice = { chat_number_id: number | null; template_id: number | null };

async function name(fixture: ChatFixture, { chat_number_id, template_id }: Notice): Promise<void> {
  await fixture.app.db.query
    .updateTable("accounts")
    .set({
      call_notice_chat_number_id: chat_number_id,
      call_notice_template_id: template_id,
    })
    .where("account_id", "=", fixture.account.account_id)
    .execute();
}

/** Creates a fixture whose account has a template for calls. */
async function noticing(t: Parameters<typeof openChatFixture>[0]): Promise<ChatFixture> {
  const fixture = await openChatFixture(t, shared);
  await name(fixture, { chat_number_id: fixture.number.id, template_id: fixture.template_id });
  return fixture;
}

/** Runs the job of one campaign as a worker does, and asserts that it completes. */
async function notify({ app, account }: ChatFixture, campaign_id = 7): Promise<void> {
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

async function credits({ api, account }: ChatFixture): Promise<number> {
  const { chat } = (await api.send("GET", "/api/v1/credits", account)).body;
  assert.equal(chat.reserved, 0);
  return chat.available;
}

async function assertNothingSent(fixture: ChatFixture): Promise<void> {
  await notify(fixture);
  assert.deepEqual(fixture.provider.sent, []);
  assert.equal(await credits(fixture), 100_000);
}

test("sends the account's template to the customer of a call for one credit, outside of any campaign", async (t) => {
  const fixture = await noticing(t);
  await notify(fixture);
  const [sent] = fixture.provider.sent;
  assert.equal(sent!.outgoing.to, phone);
  assert.match(JSON.stringify(sent!.outgoing.message), /"text":"there"/);
  assert.equal(readMessageId(sent!.outgoing.message_id), null);
  assert.equal(await credits(fixture), 99_999);
  assert.deepEqual((await fixture.ask("GET", "")).body.data, []);
  await checkLedger(fixture.app.db.pool);
});

test("a repeated job sends once, and the job of another campaign sends its own message", async (t) => {
  const fixture = await noticing(t);
  await notify(fixture, 7);
  await notify(fixture, 7);
  assert.equal(fixture.provider.sent.length, 1);
  await notify(fixture, 8);
  const ids = fixture.provider.sent.map(({ outgoing }) => outgoing.message_id);
  assert.equal(new Set(ids).size, 2);
  assert.equal(await credits(fixture), 99_998);
});

test("a rejected message costs nothing, a message of unknown outcome stays charged, and neither is retried", async (t) => {
  const fixture = await noticing(t);
  fixture.provider.answer = () =>
    Promise.reject(new ChatSendError("rejected", "no", { code: 131026 }));
  await notify(fixture, 7);
  await notify(fixture, 7);
  assert.equal(fixture.provider.sent.length, 1);
  assert.equal(await credits(fixture), 100_000);
  fixture.provider.answer = () => Promise.reject(new ChatSendError("unknown", "silence"));
  await notify(fixture, 8);
  await notify(fixture, 8);
  assert.equal(fixture.provider.sent.length, 2);
  assert.equal(await credits(fixture), 99_999);
  await checkLedger(fixture.app.db.pool);
});

test("sends nothing and completes the job without a template, number, variable value or credit", async (t) => {
  const fixture = await noticing(t);
  const { app, account, number, template_id } = fixture;
  await name(fixture, { chat_number_id: null, template_id: null });
  await assertNothingSent(fixture);
  await name(fixture, { chat_number_id: number.id, template_id: 999_999_999 });
  await assertNothingSent(fixture);
  const paused = await makeChatTemplate(app, account, number, { status: "PAUSED" });
  await name(fixture, { chat_number_id: number.id, template_id: paused });
  await assertNothingSent(fixture);
  const bare = await makeChatTemplate(app, account, number, { variable_defaults: {} });
  await name(fixture, { chat_number_id: number.id, template_id: bare });
  await assertNothingSent(fixture);
  const inactive = await makeChatNumber(app, account, { active: false });
  const its = await makeChatTemplate(app, account, inactive);
  await name(fixture, { chat_number_id: inactive.id, template_id: its });
  await assertNothingSent(fixture);
  const far = await makeChatNumber(app, account, { driver: "whatsapp" });
  const theirs = await makeChatTemplate(app, account, far, { driver: "whatsapp" });
  await name(fixture, { chat_number_id: far.id, template_id: theirs });
  await assertNothingSent(fixture);
  await name(fixture, { chat_number_id: number.id, template_id });
  await app.db.pool.query(
    "update credit_balances set available = 0 where account_id = $1 and kind = 'chat'",
    [account.account_id],
  );
  await notify(fixture);
  assert.deepEqual(fixture.provider.sent, []);
  await app.db.pool.query(
    "update credit_balances set available = 100000 where account_id = $1 and kind = 'chat'",
    [account.account_id],
  );
});

test("sends nothing to a suppressed customer, or while the account is held", async (t) => {
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
});

test("a message that is due in a quiet time is sent once it is over", async (t) => {
  const fixture = await noticing(t);
  const { account_id } = fixture.account;
  await fixture.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "UTC", chat_quiet_from: "20:00", chat_quiet_to: "08:30" })
    .where("account_id", "=", account_id)
    .execute();
  const clock = testClock();
  const app = { ...fixture.app, clock };
  clock.set("2026-12-05T20:10:00Z");
  const now = clock.now();
  const payload = { phone, campaign_id: 7 };
  const subject = "call_campaign:7";
  const job = { account_id, kind: "chat.notify_call", subject, run_at: now, payload } as const;
  await addJob(app.db.query, job, now);
  const work = async () => {
    await workJobs(app, { "chat.notify_call": notifyCall }, going);
    const jobs = app.db.query.selectFrom("jobs").select("run_at");
    return jobs.where("account_id", "=", account_id).execute();
  };
  assert.deepEqual(await work(), [{ run_at: new Date("2026-12-06T08:30:00Z") }]);
  assert.equal(fixture.provider.sent.length, 0);
  clock.set("2026-12-06T08:30:00Z");
  assert.deepEqual(await work(), []);
  assert.equal(fixture.provider.sent.length, 1);
});

test("sends nothing while the account lacks the feature bulk_chat", async (t) => {
  const fixture = await noticing(t);
  const { app, account } = fixture;
  await app.db.query
    .updateTable("accounts")
    .set({ features: ["calls"] })
    .where("account_id", "=", account.account_id)
    .execute();
  await notify(fixture);
  assert.deepEqual(fixture.provider.sent, []);
});

test("sends nothing to a customer who is suppressed while the message waits for its credit", async (t) => {
  const fixture = await noticing(t);
  const { app, account, provider } = fixture;
  await whileBalanceIsLocked(
    app,
    account,
    () => notify(fixture),
    () => makeSuppression(app, account, phone),
  );
  assert.deepEqual(provider.sent, []);
  assert.equal(await credits(fixture), 100_000);
  await checkLedger(app.db.pool);
});

test("a message begins within 0.8 s of the check of its recipient", async (t) => {
  const fixture = await noticing(t);
  const began_at = performance.now();
  await notify(fixture);
  const [{ outgoing, at }] = fixture.provider.sent as [(typeof fixture.provider.sent)[0]];
  const { begin_by_ms = Infinity } = outgoing;
  assert.ok(began_at + 800 < begin_by_ms && begin_by_ms < at + 800, `${begin_by_ms}`);
});

test("a message that had no connection in time is sent again, unless its recipient is suppressed by then", async (t) => {
  const fixture = await noticing(t);
  const { app, account, provider } = fixture;
  const late = () => new ChatSendError("late", "no connection");
  provider.answer = async (outgoing) => {
    if (provider.sent.length === 1) throw late();
    return takeMessage(outgoing);
  };
  await notify(fixture, 7);
  const [first, second] = provider.sent.map(({ outgoing }) => outgoing);
  assert.equal(first!.message_id, second!.message_id);
  assert.ok(first!.begin_by_ms! < second!.begin_by_ms!);
  assert.equal(await credits(fixture), 99_999);
  provider.answer = async () => {
    await makeSuppression(app, account, phone);
    throw late();
  };
  await notify(fixture, 8);
  assert.equal(provider.sent.length, 3);
  assert.equal(await credits(fixture), 99_999);
  await checkLedger(app.db.pool);
});

test("a message for which the provider requires the marketing route takes it, for one credit", async (t) => {
  const fixture = await openChatFixture(t, shared, { marketing_onboarded: true });
  const { app, account, number, provider } = fixture;
  const template_id = await makeChatTemplate(app, account, number, { category: "MARKETING" });
  await name(fixture, { chat_number_id: number.id, template_id });
  provider.answer = requireMarketing;
  await notify(fixture);
  const routes = provider.sent.map(({ outgoing }) => outgoing.route);
  assert.deepEqual(routes, ["standard", "marketing"]);
  assert.equal(await credits(fixture), 99_999);
  await checkLedger(app.db.pool);
});

test("a customer who stopped marketing at the provider is suppressed by the provider's response", async (t) => {
  const fixture = await noticing(t);
  const { app, account, number, provider } = fixture;
  const template_id = await makeChatTemplate(app, account, number, { category: "MARKETING" });
  await name(fixture, { chat_number_id: number.id, template_id });
  provider.answer = () => Promise.reject(new ChatSendError("rejected", "no", { code: 131050 }));
  await notify(fixture, 7);
  const suppressions = await app.db.query
    .selectFrom("suppressions")
    .select(["phone", "channel", "scope", "source"])
    .where("account_id", "=", account.account_id)
    .execute();
  const expected = { phone, channel: "chat", scope: "marketing", source: "provider" };
  assert.deepEqual(suppressions, [expected]);
  assert.deepEqual(await fixture.events(), ["chat.optout"]);
  await notify(fixture, 8);
  assert.equal(provider.sent.length, 1);
  assert.equal(await credits(fixture), 100_000);
  await checkLedger(app.db.pool);
});

test("a customer who answers STOP from the other number under which WhatsApp knows their phone gets no further message", async (t) => {
  const fixture = await noticing(t);
  const { app, account, provider } = fixture;
  const wa_id = "447700900111";
  provider.answer = async (outgoing) => ({ ...(await takeMessage(outgoing)), wa_id });
  await notify(fixture, 7);
  await makeSuppression(app, account, wa_id, { channel: "chat" });
  await notify(fixture, 8);
  assert.equal(provider.sent.length, 1);
  assert.equal(await credits(fixture), 99_999);
});

test("a refused token or a restriction holds the number, which sends no further message", async (t) => {
  for (const [code, reason] of [
    [190, "auth"],
    [131048, "sender_restricted"],
  ] as const) {
    const fixture = await noticing(t);
    const { app, account, number, provider } = fixture;
    provider.answer = () => Promise.reject(new ChatSendError("rejected", "no", { code }));
    await notify(fixture, 7);
    const held = [{ scope: "number", subject_id: number.id } as const];
    const holds = await holdsOf(app.db.query, account.account_id, held);
    assert.deepEqual(
      holds.map((one) => one.reason),
      [reason],
    );
    await notify(fixture, 8);
    assert.equal(provider.sent.length, 1);
    assert.equal(await credits(fixture), 100_000);
  }
});

test("a customer suppressed only for voice gets the message, and never another account's template", async (t) => {
  const fixture = await noticing(t);
  await makeSuppression(fixture.app, fixture.account, phone, { channel: "voice" });
  await notify(fixture);
  assert.equal(fixture.provider.sent.length, 1);
  const other = await makeAccount(fixture.app);
  await name(
    { ...fixture, account: other },
    { chat_number_id: fixture.number.id, template_id: fixture.template_id },
  );
  await notify({ ...fixture, account: other });
  assert.equal(fixture.provider.sent.length, 1);
});

test("a message that is due while its number is throttled is sent once the throttling is over", async (t) => {
  const fixture = await noticing(t);
  const { account_id } = fixture.account;
  const clock = testClock();
  const app = { ...fixture.app, clock };
  clock.set("2026-12-05T10:00:00Z");
  const ends_at = new Date("2026-12-05T10:01:00Z");
  const subject_id = fixture.number.id;
  const held = { account_id, scope: "number", subject_id, detail: null, ends_at } as const;
  await app.db.query
    .transaction()
    .execute((tx) => hold(tx, { ...held, reason: "throttled" }, clock.now()));
  const payload = { phone, campaign_id: 7 };
  const subject = "call_campaign:7";
  const run_at = clock.now();
  const job = { account_id, kind: "chat.notify_call", subject, run_at, payload } as const;
  await addJob(app.db.query, job, run_at);
  const work = async () => {
    await workJobs(app, { "chat.notify_call": notifyCall }, going);
    const jobs = app.db.query.selectFrom("jobs").select("run_at");
    return jobs.where("account_id", "=", account_id).execute();
  };
  assert.deepEqual(await work(), [{ run_at: ends_at }]);
  // The hold is not lifted yet.
  clock.set(ends_at.toISOString());
  assert.deepEqual(await work(), [{ run_at: new Date("2026-12-05T10:01:05Z") }]);
  assert.equal(fixture.provider.sent.length, 0);
  await endThrottling(app, { account_id, subject: String(subject_id) });
  clock.set("2026-12-05T10:01:05Z");
  assert.deepEqual(await work(), []);
  assert.equal(fixture.provider.sent.length, 1);
});

test("sends nothing while a hold lasts for more than a day, also beside one that ends sooner", async (t) => {
  const fixture = await noticing(t);
  const { app, account, number } = fixture;
  const { account_id } = account;
  const on = { account_id, scope: "number", subject_id: number.id, detail: null } as const;
  const set = (reason: "throttled" | "sender_restricted", after_ms: number) =>
    app.db.query.transaction().execute((tx) => {
      const now = app.clock.now();
      return hold(tx, { ...on, reason, ends_at: new Date(now.getTime() + after_ms) }, now);
    });
  await set("sender_restricted", 2 * 86_400_000);
  await assertNothingSent(fixture);
  await set("throttled", 60_000);
  await assertNothingSent(fixture);
});
