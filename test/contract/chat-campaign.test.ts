// What a created campaign is, and what it leaves behind (contract 1.2, 2.2, 3 and 4.2).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findCredits } from "../../server/credits/credits.ts";
import { checkLedger } from "../support/check-books.ts";
import { makeSuppression } from "../support/chat-makers.ts";
import { campaigns_path, startChatApi, uniquePhone, type ChatApi } from "./chat-api.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi();
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await chat.api.close();
});

test("a campaign that sends now answers 201 with exactly the nine fields, running", async () => {
  const contacts = [{ phone_number: uniquePhone() }, { phone_number: uniquePhone() }];
  const answer = await chat.create(chat.body({ contacts }));
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.deepEqual(Object.keys(answer.body), [
    "id",
    "name",
    "status",
    "total_contacts",
    "sent_count",
    "failed_count",
    "pending_count",
    "scheduled_at",
    "created_at",
  ]);
  assert.ok(Number.isSafeInteger(answer.body.id) && answer.body.id > 0);
  const { id: _id, created_at, ...rest } = answer.body;
  assert.deepEqual(rest, {
    name: "Spring sale",
    status: "running",
    total_contacts: 2,
    sent_count: 0,
    failed_count: 0,
    pending_count: 2,
    scheduled_at: null,
  });
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(created_at) - chat.api.clock.now().getTime()) < 60_000);
});
