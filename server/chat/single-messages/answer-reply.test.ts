import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { startApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { whileBalanceIsLocked } from "../../../test/support/balance-lock.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import {
  openChatFixture,
  startChatFixtureApi,
  takeMessage,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openInterruptibleProxy } from "../../../test/support/interruptible-proxy.ts";
import { unique } from "../../../test/support/account-factory.ts";
import { freezeAccount } from "../../accounts/accounts/freeze-account.ts";
import { drainAccount } from "../../cli/account-move/drain-account.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { suppress } from "../../audience/suppressions/suppress.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

const phone = "919811111111";
const hour_ms = 3_600_000;

/** Stores a reply to the fixture's number; returns its id. */
async function keep(
  { app, account, number }: ChatFixture,
  hours_ago: number,
  more: { readonly phone?: string | null; readonly bsuid?: string } = {},
): Promise<number> {
  const { id } = await app.db.query
    .insertInto("chat_replies")
    .values({
      account_id: account.account_id,
      chat_number_id: number.id,
      provider_message_id: unique("wamid"),
      phone,
      type: "text",
      text: "where is my order?",
      opted_out: false,
      received_at: new Date(app.clock.now().getTime() - hours_ago * hour_ms),
      ...more,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

const answer = (
  { api, account }: ChatFixture,
  id: number,
  json: unknown = { text: "On its way" },
  headers: Record<string, string> = {},
) =>
  api.send("POST", `/api/v1/chat/replies/${id}/answers`, { token: account.token, json, headers });

type Listed = { readonly outcome: string };

const credit = async ({ api, account }: ChatFixture): Promise<number> =>
  (await api.send("GET", "/api/v1/credits", account)).body.chat.available;

const listed = async ({ api, account }: ChatFixture) =>
  (await api.send("GET", "/api/v1/chat/replies", account)).body.data;

async function suppressPhone({ app, account }: ChatFixture, hours_ago: number): Promise<void> {
  const occurred_at = new Date(app.clock.now().getTime() - hours_ago * hour_ms);
  await app.db.query.transaction().execute((tx) =>
    suppress(
      tx,
      {
        account_id: account.account_id,
        person: { phone },
        channel: "chat",
        scope: "all",
        source: "reply",
        reason: "stop",
        evidence: {},
        occurred_at,
        expires_at: null,
        created_by: null,
      },
      app.clock.now(),
    ),
  );
}

test("an answer goes to the person from the number they wrote to, costs one credit, and everyone sees it with the reply", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 23);
  const sent = await answer(fixture, id);
  assert.equal(sent.status, 200, sent.text);
  assert.equal(sent.body.outcome, "accepted");
  const [{ outgoing }] = fixture.provider.sent as [(typeof fixture.provider.sent)[0]];
  assert.equal(outgoing.to, phone);
  assert.match(JSON.stringify(outgoing.message), /"body":"On its way"/);
  assert.equal(await credit(fixture), 99_999);
  const [reply] = await listed(fixture);
  const [kept, ...more] = reply.answers;
  assert.deepEqual(
    [more, kept.text, kept.outcome, kept.error, kept.message_id],
    [[], "On its way", "accepted", null, sent.body.message_id],
  );
  assert.deepEqual(await fixture.audit(), ["chat_reply.answered"]);
  await checkLedger(fixture.app.db.pool);
});

test("no text is sent once 24 hours have passed since the person last wrote to the number", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const old = await keep(fixture, 24);
  const late = await answer(fixture, old);
  assert.equal(late.status, 409, late.text);
  assert.match(late.body.detail, /window closed/);
  await keep(fixture, 1, { phone: "919822222222" });
  assert.equal((await answer(fixture, old)).status, 409, "another person's message opens nothing");
  await keep(fixture, 1);
  assert.equal((await answer(fixture, old)).status, 200, "a later message opens it again");
  assert.equal(fixture.provider.sent.length, 1);
  assert.equal(await credit(fixture), 99_999);
});

test("someone who opted out gets no answer to that or anything earlier, but to what they write afterwards", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 2);
  await suppressPhone(fixture, 2);
  const refused = await answer(fixture, id);
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.body.detail, /suppressed/);
  assert.equal(fixture.provider.sent.length, 0);
  const later = await keep(fixture, 1);
  assert.equal((await answer(fixture, later)).status, 200);
});

test("someone who opts out while the answer waits for its credit gets none, and none is listed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 2);
  const refused = await whileBalanceIsLocked(
    fixture.app,
    fixture.account,
    () => answer(fixture, id),
    () => suppressPhone(fixture, 0),
  );
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.body.detail, /suppressed/);
  assert.deepEqual(fixture.provider.sent, []);
  assert.deepEqual((await listed(fixture))[0].answers, []);
  assert.equal(await credit(fixture), 100_000);
});

test("an answer that the provider rejects costs nothing and is listed as failed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1, { phone: null, bsuid: "US.13491208655302741918" });
  fixture.provider.answer = async () => {
    throw new ChatSendError("rejected", "no", { code: 131_047 });
  };
  const failed = await answer(fixture, id);
  assert.deepEqual([failed.body.outcome, failed.body.error], ["failed", "outside_window"]);
  assert.equal(fixture.provider.sent[0]!.outgoing.to, "US.13491208655302741918");
  const [reply] = await listed(fixture);
  assert.deepEqual(
    [reply.answers[0].outcome, reply.answers[0].error],
    ["failed", "outside_window"],
  );
  assert.equal(await credit(fixture), 100_000);
  await checkLedger(fixture.app.db.pool);
});

test("a repeated idempotency key sends one answer", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  const headers = { "idempotency-key": unique("key") };
  const first = await answer(fixture, id, undefined, headers);
  const again = await answer(fixture, id, undefined, headers);
  assert.deepEqual([again.status, again.text], [200, first.text]);
  assert.equal(fixture.provider.sent.length, 1);
  assert.equal((await listed(fixture))[0].answers.length, 1);
});

test("an answer that is repeated under its key while the first request runs is a 409, which says that it may have been sent", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  const arrived = Promise.withResolvers<void>();
  const response = Promise.withResolvers<void>();
  fixture.provider.answer = async (outgoing) => {
    arrived.resolve();
    await response.promise;
    return takeMessage(outgoing);
  };
  const headers = { "idempotency-key": unique("key") };
  const first = answer(fixture, id, undefined, headers);
  await arrived.promise;
  const twin = await answer(fixture, id, undefined, headers);
  response.resolve();
  assert.equal((await first).status, 200);
  assert.equal(twin.status, 409, twin.text);
  assert.match(twin.body.detail, /may have been sent; check `answers` of the reply/);
  assert.equal(fixture.provider.sent.length, 1);
});

/** Returns the fixture behind another API process, whose connections to the database the test cuts. */
async function behindProxy(t: TestContext, fixture: ChatFixture) {
  const address = new URL(fixture.api.database_url);
  const proxy = await openInterruptibleProxy(Number(address.port));
  Object.assign(address, { hostname: "127.0.0.1", port: String(proxy.port) });
  const chatDrivers = { sandbox: shared.driver };
  const api = await startApi({ databaseUrl: address.href, chatDrivers });
  t.after(async () => {
    proxy.restore();
    await api.close();
    await proxy.close();
  });
  return { proxy, other: { ...fixture, api } };
}

test("an answer that was sent is a 200 when the database fails meanwhile, and is recorded once it works again", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  const { proxy, other } = await behindProxy(t, fixture);
  fixture.provider.answer = async (outgoing) => {
    proxy.cut();
    return takeMessage(outgoing);
  };
  for (const headers of [{}, { "idempotency-key": unique("key") }] as const) {
    const sent = await answer(other, id, undefined, headers);
    assert.deepEqual([sent.status, sent.body?.outcome], [200, "accepted"], sent.text);
    proxy.restore();
  }
  await eventually(async () =>
    (await listed(fixture))[0].answers.every(({ outcome }: Listed) => outcome === "accepted"),
  );
  assert.equal(fixture.provider.sent.length, 2);
  assert.equal(await credit(fixture), 99_998);
});

test("an answer that the provider rejects is refunded once the database works again", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  const { proxy, other } = await behindProxy(t, fixture);
  fixture.provider.answer = async () => {
    proxy.cut();
    throw new ChatSendError("rejected", "no", { code: 131_047 });
  };
  const failed = await answer(other, id);
  assert.deepEqual([failed.status, failed.body?.outcome], [200, "failed"], failed.text);
  assert.equal(await credit(fixture), 99_999);
  proxy.restore();
  await eventually(async () => (await credit(fixture)) === 100_000);
  await eventually(async () => (await listed(fixture))[0].answers[0].outcome === "failed");
  await checkLedger(fixture.app.db.pool);
});

test("the other number under which WhatsApp knows a person is stored once the database works again", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  const { proxy, other } = await behindProxy(t, fixture);
  const wa_id = "447700900222";
  fixture.provider.answer = async (outgoing) => {
    proxy.cut();
    return { ...(await takeMessage(outgoing)), wa_id };
  };
  const sent = await answer(other, id);
  assert.deepEqual([sent.status, sent.body?.outcome], [200, "accepted"], sent.text);
  proxy.restore();
  const { account_id } = fixture.account;
  await eventually(async () => {
    const rows = await fixture.app.db.query
      .selectFrom("phone_aliases")
      .select("alias_key")
      .where("account_id", "=", account_id)
      .execute();
    return rows.length === 2 && rows.some(({ alias_key }) => alias_key === wa_id);
  });
});

test("another account's and erased replies are unknown, and an invalid text is 422", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const other = await openChatFixture(t, shared);
  const id = await keep(fixture, 1);
  assert.equal((await answer(other, id)).status, 404);
  const erased = await keep(fixture, 1, { phone: "" });
  assert.equal((await answer(fixture, erased)).status, 404);
  for (const text of ["", "  ", "x".repeat(4_097), 1, undefined])
    assert.deepEqual(failingFields(await answer(fixture, id, { text })), ["text"]);
  assert.equal(fixture.provider.sent.length + other.provider.sent.length, 0);
});

test("an export waits for an answer that is being sent, and one whose account was frozen since is 503 and not listed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, provider } = fixture;
  const { account_id } = account;
  const id = await keep(fixture, 2);
  assert.equal((await answer(fixture, id)).status, 200);
  const actor = { account_id, user_id: null, token_id: null, request_id: "req_test" };
  // As by another process whose notification is lost.
  const frozen_at = await app.db.query
    .transaction()
    .execute((tx) => freezeAccount(tx, actor, app.clock.now()));
  const refused = await answer(fixture, id);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(provider.sent.length, 1);
  assert.equal((await listed(fixture))[0].answers.length, 1);
  const now = new Date(frozen_at.getTime() + 10_000);
  const drain = drainAccount(app.db, account_id, { frozen_at, now, wait_ms: 0 });
  await assert.rejects(drain, /1 answers or test messages of the last minute/);
});
