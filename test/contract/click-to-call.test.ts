// The result, the stored data and the cost of a click-to-call, its permissions and its trunk
// (contract 1, 2.4, 4.4, 5.5).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi } from "../support/api.ts";
import {
  makeCallingAccount,
  makeNode,
  makeSandboxTrunk,
  makeTrunk,
} from "../support/telephony-factory.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeAgentToken, makeToken, makeUser } from "../support/account-factory.ts";
import { makeSuppression } from "../support/chat-factory.ts";
import {
  assertCallError,
  assertSubmitted,
  call_path,
  startCallApi,
  type CallApi,
} from "./call-api.ts";

let calls: CallApi;

before(async () => {
  calls = await startCallApi();
});
after(async () => {
  await checkLedger(calls.api.app.db.pool);
  await calls.api.close();
});

const creditsOf = async ({ api, account }: Pick<CallApi, "api" | "account">) => {
  const { available } = await api.app.db.query
    .selectFrom("credit_balances")
    .select("available")
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "call")
    .executeTakeFirstOrThrow();
  return available;
};

test("a click-to-call returns 200 with exactly status, message and campaignId, and queues its call", async () => {
  const before_at = new Date();
  assertSubmitted(await calls.submit(calls.body()));
  const { request, call } = await calls.submitValid();
  assert.equal(call.campaign_id, request.campaign_id);
  assert.deepEqual([call.stage, call.status, call.attempt], ["queued", "queued", 1]);
  assert.deepEqual([call.node_id, call.trunk_id], [calls.node_id, calls.trunk_id]);
  assert.ok(call.due_at >= before_at && call.due_at <= new Date());
  assert.equal(request.scheduled_at, null);
});

test("a path with a trailing slash is the same endpoint", async () => {
  const { token } = calls.account;
  assertSubmitted(await calls.api.send("POST", `${call_path}/`, { token, json: calls.body() }));
});

test("the audit trail records the user who submits a call, but not the customer", async () => {
  const { app } = calls.api;
  const user_id = await makeUser(app, calls.account);
  const token = await makeToken(app, calls.account, { kind: "agent", user_id });
  const answer = await calls.submit(calls.body(), { token });
  const { campaignId } = answer.body.data;
  const entry = await app.db.query
    .selectFrom("audit_entries")
    .selectAll()
    .where("account_id", "=", calls.account.account_id)
    .where("action", "=", "click_to_call.submitted")
    .where("subject_id", "=", String(campaignId))
    .executeTakeFirstOrThrow();
  assert.equal(entry.user_id, user_id);
  assert.equal(entry.request_id, answer.headers.get("x-request-id"));
  assert.deepEqual(entry.detail, {});
});

test("reserves two credits for the call, a pulse for each leg", async () => {
  const available = await creditsOf(calls);
  const { call } = await calls.submitValid({ schedulled_at: "2099-01-31T09:30:00Z" });
  assert.equal(await creditsOf(calls), available - 2);
  assert.equal(call.reserved, 2);
  const reservation = await calls.api.app.db.query
    .selectFrom("credit_reservations")
    .selectAll()
    .where("account_id", "=", calls.account.account_id)
    .where("id", "=", call.reservation_id!)
    .executeTakeFirstOrThrow();
  assert.deepEqual([reservation.kind, reservation.subject], ["call", `call:${call.id}`]);
});

test("accepts exactly five of a hundred concurrent calls against ten credits, and the ledger balances", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url, credits: 10 });
  const second = await startApi({ databaseUrl: calls.api.database_url });
  const { token } = own.account;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      (i % 2 ? second : own.api).send("POST", call_path, { token, json: own.body() }),
    ),
  );
  const taken = answers.filter(({ status }) => status === 200);
  for (const answer of taken) assertSubmitted(answer);
  assert.equal(taken.length, 5);
  for (const answer of answers)
    if (!taken.includes(answer))
      assert.match(assertCallError(answer, 400), /Insufficient call credit/);
  assert.equal(new Set(taken.map(({ body }) => body.data.campaignId)).size, 5);
  assert.equal(await own.callCount(), 5);
  assert.equal(await creditsOf(own), 0);
  await second.close();
  await own.api.close();
});

test("any valid token of the account may submit a call, with any kind, role and scopes", async () => {
  const { app } = calls.api;
  const user_id = await makeUser(app, calls.account);
  for (const token of [
    calls.account.token,
    await makeAgentToken(app, calls.account, null),
    await makeAgentToken(app, calls.account, []),
    await makeToken(app, calls.account, { scopes: [] }),
    await makeToken(app, calls.account, { kind: "agent", user_id, scopes: ["crm.read"] }),
  ])
    assertSubmitted(await calls.submit(calls.body(), { token }));
});

test("accepts a call to a suppressed customer, or to one who has a queued call", async () => {
  await makeSuppression(calls.api.app, calls.account, "919812345678", { channel: "voice" });
  await makeSuppression(calls.api.app, calls.account, "919812345678", { channel: "all" });
  for (let i = 0; i < 2; i++) {
    const { call } = await calls.submitValid({ to_number: "9812345678" });
    assert.equal(call.stage, "queued");
  }
});

test("places a call over an active trunk that the account may use, on an active node", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  const { app } = own.api;
  const mine = { only_account_id: own.account.account_id };
  await makeTrunk(app, [await makeNode(app, { connected: true })], { ...mine, active: false });
  await makeTrunk(app, [await makeNode(app, { connected: true, active: false })], mine);
  await makeSandboxTrunk(app, calls.account);
  for (let i = 0; i < 20; i++) assert.equal((await own.submitValid()).call.trunk_id, own.trunk_id);
  const shared = await makeSandboxTrunk(app);
  assert.equal((await own.submitValid()).call.trunk_id, own.trunk_id);
  await app.db.query
    .updateTable("voice_nodes")
    .set({ connected_at: null })
    .where("id", "=", own.node_id)
    .execute();
  assert.equal((await own.submitValid()).call.trunk_id, shared.trunk_id);
  const other = await makeCallingAccount(app);
  const { token } = other;
  assertSubmitted(await own.submit(own.body(), { token }));
  await own.api.close();
});
