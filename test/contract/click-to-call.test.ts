// What a submitted click-to-call is and stores (contract 2.4, 4.4, 5.5).
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { startCallApi, assertSubmitted, type CallApi } from "./call-api.ts";

let calls: CallApi;

before(async () => {
  calls = await startCallApi();
});
after(() => calls.api.close());

test("a click-to-call answers 200 with exactly status, message and its campaign, and its call is queued", async () => {
  const before_at = new Date();
  assertSubmitted(await calls.submit(calls.body()));
  const { call } = await calls.take();
  assert.equal(call.stage, "queued");
  assert.equal(call.status, "queued");
  assert.ok(call.due_at >= before_at && call.due_at <= new Date());
});
