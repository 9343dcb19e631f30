// The optional Idempotency-Key of a click-to-call: one key, one call, one response.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../support/api.ts";
import { setCalling } from "../support/telephony-factory.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeCredits, unique } from "../support/account-factory.ts";
import {
  assertCallError,
  assertSubmitted,
  call_path,
  startCallApi,
  type CallApi,
} from "./call-api.ts";

let calls: CallApi;
/** A second server on the same database. */
let second: TestApi;

before(async () => {
  calls = await startCallApi();
  second = await startApi({ databaseUrl: calls.api.database_url });
});
after(async () => {
  await checkLedger(calls.api.app.db.pool);
  await second.close();
  await calls.api.close();
});

const keyed = (key: string, json: unknown, { api, account }: Pick<CallApi, "api" | "account">) =>
  api.send("POST", call_path, {
    token: account.token,
    json,
    headers: { "idempotency-key": key },
  });

test("without a key every request creates a call", async () => {
  const count = await calls.callCount();
  const answers = [await calls.submit(calls.body()), await calls.submit(calls.body())];
  assert.notEqual(answers[0]!.body.data.campaignId, answers[1]!.body.data.campaignId);
  assert.equal(await calls.callCount(), count + 2);
});

test("a retry with the same key returns the original response byte for byte and creates no call", async () => {
  const key = unique("key");
  const first = await keyed(key, calls.body(), calls);
  assertSubmitted(first);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  const count = await calls.callCount();
  const again = await keyed(key, calls.body(), calls);
  assert.equal(again.status, 200);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("content-type"), first.headers.get("content-type"));
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(await calls.callCount(), count);
});

test("a retry returns the original response even when credit, calling window, trunk and time no longer allow the call", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url, credits: 2 });
  const key = unique("key");
  const json = own.body({ schedulled_at: new Date(Date.now() + 120_000).toISOString() });
  const first = await keyed(key, json, own);
  assertSubmitted(first);
  own.api.clock.advance(3_600_000);
  await setCalling(own.api.app, own.account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "09:00",
  });
  await own.api.app.db.query
    .updateTable("trunks")
    .set({ active: false })
    .where("id", "=", own.trunk_id)
    .execute();
  assert.equal((await keyed(key, json, own)).text, first.text);
  await own.api.close();
});

test("another body under the same key, or an invalid key, is 400 on Idempotency-Key", async () => {
  const key = unique("key");
  assertSubmitted(await keyed(key, calls.body(), calls));
  const count = await calls.callCount();
  for (const other of [calls.body({ remark: "x" }), calls.body({ remark: null }), {}, []]) {
    const message = assertCallError(await keyed(key, other, calls), 400);
    assert.match(message, /^Idempotency-Key: was already used for another request$/);
  }
  for (const none of ["", " ", "x".repeat(256)])
    assert.match(assertCallError(await keyed(none, calls.body(), calls), 400), /Idempotency-Key/);
  assert.equal(await calls.callCount(), count);
  assertSubmitted(await keyed("x".repeat(255), calls.body(), calls));
});

test("errors are not stored: the same key succeeds once the cause is fixed", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url, credits: 1 });
  const { app } = own.api;
  const key = unique("key");
  const trunk = (active: boolean) =>
    app.db.query.updateTable("trunks").set({ active }).where("id", "=", own.trunk_id).execute();
  assertCallError(await keyed(key, own.body({ to_number: "1" }), own), 400);
  assertCallError(await keyed(key, own.body(), own), 400);
  await trunk(false);
  assertCallError(await keyed(key, own.body(), own), 500);
  await trunk(true);
  await makeCredits(app, own.account, { call: 1 });
  const answer = await keyed(key, own.body(), own);
  assertSubmitted(answer);
  assert.equal(answer.headers.get("idempotency-replayed"), null);
  assert.equal(await own.callCount(), 1);
  await own.api.close();
});

test("twenty concurrent identical requests on two servers create one call and get one response", async () => {
  const count = await calls.callCount();
  const key = unique("key");
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      keyed(key, calls.body(), { account: calls.account, api: i % 2 ? second : calls.api }),
    ),
  );
  for (const answer of answers) {
    assertSubmitted(answer);
    assert.equal(answer.text, answers[0]!.text);
  }
  const originals = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
  assert.equal(originals.length, 1);
  assert.equal(await calls.callCount(), count + 1);
});
