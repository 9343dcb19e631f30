import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAutomationFlow,
  makeChatFlow,
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-factory.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import {
  openChatFixture,
  requireMarketing,
  startChatFixtureApi,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { makeAccount, unique } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { freezeAccount } from "../../accounts/accounts/freeze-account.ts";
import { drainAccount } from "../../cli/account-move/drain-account.ts";
import { ChatSendError, type Accepted, type SendFailure } from "../../drivers/chat/driver.ts";
import { hold, type HoldReason, type HoldScope } from "../holds/holds.ts";
import { readMessageId } from "../messages/message-id.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

const phone_number = "919811111111";

function right({ number, template_id }: ChatFixture): Record<string, unknown> {
  return { chat_number_id: number.id, template_id, phone_number };
}

async function credits({
  api,
  account,
}: ChatFixture): Promise<{ available: number; reserved: number }> {
  return (await api.send("GET", "/api/v1/credits", account)).body.chat;
}

const all_credit = { available: 100_000, reserved: 0 };
const one_less = { available: 99_999, reserved: 0 };

test("a test message is sent at once with its variables, costs one credit and creates no recipient", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, provider, account } = fixture;
  const json = { ...right(fixture), phone_number: "+91 98111-11111", variables: { "1": "Ada" } };
  const answer = await fixture.ask("POST", "/test", json);
  assert.equal(answer.status, 200, answer.text);
  const [sent] = provider.sent;
  assert.deepEqual(answer.body, {
    message_id: sent!.outgoing.message_id,
    outcome: "accepted",
    provider_message_id: `wamid.${sent!.outgoing.message_id}`,
    error: null,
    error_code: null,
  });
  assert.match(answer.body.message_id, /^test\.[0-9a-f-]{36}$/);
  assert.equal(readMessageId(answer.body.message_id), null);
  assert.equal(sent!.outgoing.to, phone_number);
  assert.equal(sent!.outgoing.route, "standard");
  assert.match(JSON.stringify(sent!.outgoing.message), /"text":"Ada"/);
  assert.deepEqual(await credits(fixture), one_less);
  assert.deepEqual(await fixture.audit(), ["chat_test.sent"]);
  assert.deepEqual((await fixture.ask("GET", "")).body.data, []);
  const recipients = await app.db.query
    .selectFrom("chat_recipients")
    .select("id")
    .where("account_id", "=", account.account_id)
    .execute();
  assert.deepEqual(recipients, []);
  await checkLedger(app.db.pool);
});

test("a test of a flow or automation flow sends its opening message", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { template_id: _, ...rest } = right(fixture);
  const flow_id = await makeChatFlow(fixture.app, fixture.account);
  const automation_flow_id = await makeAutomationFlow(fixture.app, fixture.account);
  for (const named of [{ flow_id }, { automation_flow_id }]) {
    const answer = await fixture.ask("POST", "/test", { ...rest, ...named });
    assert.equal(answer.status, 200, answer.text);
  }
  const kinds = fixture.provider.sent.map(({ outgoing }) => outgoing.message.kind);
  assert.deepEqual(kinds, ["interactive", "interactive"]);
});

test("a provider's rejection is reported with our error name and its code, and costs nothing; an unknown outcome stays charged", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const cases: [SendFailure, number | undefined, string, string, number | null][] = [
    ["rejected", 131_026, "failed", "undeliverable", 131_026],
    ["rejected", 999, "failed", "provider_error", 999],
    ["throttled", 130_429, "failed", "throttled", 130_429],
    ["unreachable", undefined, "failed", "unreachable", null],
    ["unknown", undefined, "unknown", "outcome_unknown", null],
  ];
  for (const [failure, code, outcome, error, error_code] of cases) {
    fixture.provider.answer = async () => {
      throw new ChatSendError(failure, "no", code === undefined ? {} : { code });
    };
    const { status, body } = await fixture.ask("POST", "/test", right(fixture));
    assert.equal(status, 200);
    const { message_id: _, ...rest } = body;
    assert.deepEqual(rest, { outcome, provider_message_id: null, error, error_code });
    assert.deepEqual(await credits(fixture), outcome === "unknown" ? one_less : all_credit);
  }
  await checkLedger(fixture.app.db.pool);
});

test("a test message for which the provider requires the marketing route takes it, for one credit, unless its recipient is suppressed by then", async (t) => {
  const fixture = await openChatFixture(t, shared, { marketing_onboarded: true });
  const { app, account, number, provider } = fixture;
  const template_id = await makeChatTemplate(app, account, number, { category: "MARKETING" });
  const json = { ...right(fixture), template_id };
  provider.answer = requireMarketing;
  const { body } = await fixture.ask("POST", "/test", json);
  assert.deepEqual([body.outcome, body.error_code], ["accepted", null]);
  const routes = () => provider.sent.map(({ outgoing }) => outgoing.route);
  assert.deepEqual(routes(), ["standard", "marketing"]);
  assert.deepEqual(await credits(fixture), one_less);
  provider.answer = async (outgoing) => {
    await makeSuppression(app, account, phone_number);
    return requireMarketing(outgoing);
  };
  const refused = await fixture.ask("POST", "/test", json);
  assert.deepEqual(
    [refused.body.outcome, refused.body.error, refused.body.error_code],
    ["failed", "marketing_route_required", 131_063],
  );
  assert.deepEqual(routes(), ["standard", "marketing", "standard"]);
  assert.deepEqual(await credits(fixture), one_less);
  await checkLedger(app.db.pool);
});

test("a test message fails if its number may not use the marketing route that the provider requires", async (t) => {
  const fixture = await openChatFixture(t, shared);
  fixture.provider.answer = requireMarketing;
  const { body } = await fixture.ask("POST", "/test", right(fixture));
  assert.deepEqual([body.outcome, body.error], ["failed", "marketing_route_required"]);
  assert.equal(fixture.provider.sent.length, 1);
  assert.deepEqual(await credits(fixture), all_credit);
});

test("rejects each invalid field before anything is sent or charged", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number } = fixture;
  await makeSuppression(app, account, "919822222222");
  const other = await openChatFixture(t, shared);
  const pending = await makeChatTemplate(app, account, number, { status: "PENDING" });
  const bare = await makeChatTemplate(app, account, number, { variable_defaults: {} });
  const idle = await makeChatNumber(app, account, { active: false });
  const cases: [Record<string, unknown>, string][] = [
    [{ chat_number_id: other.number.id }, "chat_number_id"],
    [{ chat_number_id: idle.id }, "chat_number_id"],
    [{ chat_number_id: "1" }, "chat_number_id"],
    [{ template_id: other.template_id }, "template_id"],
    [{ template_id: pending }, "template_id"],
    [{ template_id: bare }, "variables.1"],
    [{ phone_number: "12" }, "phone_number"],
    [{ phone_number: "919822222222" }, "phone_number"],
    [{ phone_number: undefined }, "phone_number"],
    [{ variables: { "1": 1 } }, "variables.1"],
    [{ name: "x" }, "name"],
  ];
  for (const [wrong, field] of cases) {
    const answer = await fixture.ask("POST", "/test", { ...right(fixture), ...wrong });
    assert.ok(failingFields(answer).includes(field), `${JSON.stringify(wrong)}: ${answer.text}`);
  }
  const two = await fixture.ask("POST", "/test", { ...right(fixture), flow_id: 1 });
  assert.equal(two.status, 400);
  assert.equal(two.body.type, "bad-request");
  assert.equal(fixture.provider.sent.length, 0);
  assert.deepEqual(await credits(fixture), all_credit);
});

test("sends no test while the provider restricts the number, template or account", async (t) => {
  const held: [HoldScope, HoldReason][] = [
    ["number", "sender_restricted"],
    ["account", "auth"],
    ["template", "template_paused"],
  ];
  for (const [scope, reason] of held) {
    const fixture = await openChatFixture(t, shared);
    const subject_id = { number: fixture.number.id, account: 0, template: fixture.template_id }[
      scope as "number"
    ];
    const { account_id } = fixture.account;
    const now = fixture.app.clock.now();
    await fixture.app.db.query
      .transaction()
      .execute((tx) => hold(tx, { account_id, scope, subject_id, reason, detail: null }, now));
    const answer = await fixture.ask("POST", "/test", right(fixture));
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.body.detail, new RegExp(reason));
    assert.equal(fixture.provider.sent.length, 0);
  }
});

test("returns 409 without credit and 503 without the driver, and sends nothing", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const poor = await makeAccount(fixture.app);
  const number = await makeChatNumber(fixture.app, poor);
  const template_id = await makeChatTemplate(fixture.app, poor, number);
  const json = { chat_number_id: number.id, template_id, phone_number };
  const path = "/api/v1/chat/campaigns/test";
  const broke = await fixture.api.send("POST", path, { token: poor.token, json });
  assert.equal(broke.status, 409, broke.text);
  assert.equal(broke.body.type, "insufficient-credit");
  const bare = await startApi({ databaseUrl: fixture.api.database_url, chatDrivers: {} });
  try {
    const { token } = fixture.account;
    const answer = await bare.send("POST", path, { token, json: right(fixture) });
    assert.equal(answer.status, 503, answer.text);
  } finally {
    await bare.close();
  }
  assert.deepEqual(await credits(fixture), all_credit);
});

test("a repeated idempotency key sends nothing again, even when the first response was lost", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { provider } = fixture;
  const headers = { "idempotency-key": unique("key") };
  const { token } = fixture.account;
  const send = (json: unknown = right(fixture)) =>
    fixture.api.send("POST", "/api/v1/chat/campaigns/test", { token, headers, json });
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  provider.answer = async ({ message_id }) => {
    arrived.resolve();
    await answer.promise;
    return { provider_message_id: message_id };
  };
  const first = send();
  await arrived.promise;
  const twin = await send();
  assert.equal(twin.status, 409, twin.text);
  assert.match(twin.body.detail, /may have been sent; under a new key it may be sent twice/);
  answer.resolve();
  const replay = await first.then(() => send());
  assert.equal((await first).status, 200);
  assert.equal(replay.text, (await first).text);
  assert.equal(replay.headers.get("idempotency-replayed"), "true");
  const another = await send({ ...right(fixture), phone_number: "919833333333" });
  assert.deepEqual(failingFields(another), ["Idempotency-Key"]);
  assert.equal(provider.sent.length, 1);
  assert.deepEqual(await credits(fixture), one_less);
});

test("an account sends at most 60 tests a minute", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const answers = [];
  for (let i = 0; i < 61; i++) answers.push(await fixture.ask("POST", "/test", {}));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array.from({ length: 60 }, () => 422), 429],
  );
  assert.ok(answers.at(-1)!.headers.get("retry-after"));
});

test("an export waits for the outcome of a test message that is being sent while its account is frozen", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, provider } = fixture;
  const { account_id } = fixture.account;
  const { promise: rejection, reject } = Promise.withResolvers<Accepted>();
  provider.answer = () => rejection;
  const sending = fixture.ask("POST", "/test", right(fixture));
  await eventually(() => provider.sent.length === 1);
  const frozen_at = await freeze(fixture);
  // The caches of tokens have expired.
  const now = new Date(frozen_at.getTime() + 10_000);
  const drain = (wait_ms: number) => drainAccount(app.db, account_id, { frozen_at, now, wait_ms });
  await assert.rejects(drain(0), /not at rest yet: 1 answers or test messages/);
  reject(new ChatSendError("rejected", "no such number"));
  assert.equal((await sending).body.outcome, "failed");
  assert.deepEqual(await credits(fixture), all_credit);
  await app.db.pool.query(
    "update audit_entries set at = at - interval '1 minute' where account_id = $1",
    [account_id],
  );
  await drain(60_000);
});

test("a test message whose account was frozen since its token was checked is 503, and is neither charged nor sent", async (t) => {
  const fixture = await openChatFixture(t, shared);
  assert.deepEqual(await credits(fixture), all_credit);
  await freeze(fixture);
  const { status, text } = await fixture.ask("POST", "/test", right(fixture));
  assert.equal(status, 503, text);
  assert.deepEqual(fixture.provider.sent, []);
  assert.deepEqual(await credits(fixture), all_credit);
});

/** Freezes the account, as another process does whose notification is lost. */
function freeze({ app, api, account }: ChatFixture): Promise<Date> {
  const actor = { account_id: account.account_id, user_id: null, token_id: null, request_id: "" };
  return app.db.query.transaction().execute((tx) => freezeAccount(tx, actor, api.clock.now()));
}
