// The Idempotency-Key of a campaign: required; one key, one campaign, one answer (contract 4.2).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type Answer, type TestApi } from "../support/api.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeCredits, unique } from "../support/account-factory.ts";
import { campaigns_path, startChatApi, uniquePhone, type ChatApi } from "./chat-api.ts";
import { assertProblem } from "./lead-api.ts";

let chat: ChatApi;
/** A second process's worth of API on the same database. */
let twin: TestApi;

before(async () => {
  chat = await startChatApi();
  twin = await startApi({ databaseUrl: chat.api.database_url });
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await twin.close();
  await chat.api.close();
});

const keyed = (key: string, json: unknown, at = chat.api) =>
  at.send("POST", campaigns_path, {
    token: chat.account.token,
    json,
    headers: { "idempotency-key": key },
  });

function assertOneResponse(answers: readonly Answer[]): void {
  const originals = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
  assert.equal(originals.length, 1);
  for (const answer of answers) {
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.text, originals[0]!.text);
  }
}

test("a request without a key, or with one that is empty, blank or too long, is 400", async () => {
  const count = await chat.campaignCount();
  const { token } = chat.account;
  for (const key of [undefined, "", " ", "x".repeat(256)]) {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const answer = await chat.api.send("POST", campaigns_path, {
      token,
      json: chat.body(),
      headers,
    });
    assertProblem(answer, 400, "bad-request");
    assert.match(answer.text, /Idempotency-Key/);
  }
  assert.equal(await chat.campaignCount(), count);
  assert.equal((await keyed("x".repeat(255), chat.body())).status, 201);
});

test("a retry with the same key returns the original response byte for byte and does not send again", async () => {
  const key = unique("key");
  const json = chat.body({ name: "Zoë 🙂" });
  const first = await keyed(key, json);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  const count = await chat.campaignCount();
  const again = await keyed(key, json);
  assert.equal(again.status, 201);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(again.headers.get("content-type"), first.headers.get("content-type"));
  const remaining = (answer: Answer) => Number(answer.headers.get("ratelimit-remaining"));
  assert.equal(remaining(again), remaining(first) - 1, "the figures are the present ones");
  assert.equal(await chat.campaignCount(), count);
  assert.equal((await chat.recipients(first.body.id)).length, 1);
});

test("a retry is answered the same after the credit, the template and the time have gone", async () => {
  const own = await startChatApi({ credit: 1 });
  const headers = { "idempotency-key": unique("key") };
  const json = own.body({ scheduled_at: new Date(Date.now() + 120_000).toISOString() });
  const first = await own.create(json, { headers });
  assert.equal(first.status, 201, first.text);
  await own.api.app.db.query
    .updateTable("chat_templates")
    .set({ status: "PAUSED" })
    .where("account_id", "=", own.account.account_id)
    .execute();
  own.api.clock.advance(3_600_000);
  const again = await own.create(json, { headers });
  assert.equal(again.text, first.text);
  await own.api.close();
});

test("bodies are compared as parsed values: order, spaces, escapes and repeated fields are ignored", async () => {
  const key = unique("key");
  const send = (raw: string) =>
    chat.api.send("POST", campaigns_path, {
      token: chat.account.token,
      raw,
      headers: { "content-type": "application/json", "idempotency-key": key },
    });
  const head = `"chat_number_id":${chat.number.id},"template_id":${chat.template_id}`;
  const contacts = '[{"phone_number":"919812345678","variables":{"1":"Ann","b":"x","a":"\\n"}}]';
  assertOneResponse([
    await send(`{"name":"Ann",${head},"contacts":${contacts}}`),
    await send(
      ` { "contacts" : [ { "variables" : {"a":"\\u000a","b":"x","1":"\\u0041nn"}, "phone_number":"919812345678" } ],\n${head},"name":"\\u0041nn"}`,
    ),
    await send(`\ufeff{"name":"Ann","contacts":[1,2],${head},"contacts":${contacts}}`),
    await send(`{"name":"Ann",${head},"cont\\u0061cts":${contacts}}`),
  ]);
});

test("another body under the same key is 422 naming Idempotency-Key", async () => {
  const key = unique("key");
  const contacts = [{ phone_number: "919812345678", variables: { "1": "Ann" } }];
  const json = chat.body({ contacts });
  assert.equal((await keyed(key, json)).status, 201);
  const others = [
    { ...json, name: "Other" },
    { ...json, mm_lite: false },
    { ...json, contacts: [{ phone_number: "+919812345678", variables: { "1": "Ann" } }] },
    { ...json, contacts: [{ phone_number: "919812345678", variables: { "1": "Bob" } }] },
    { ...json, contacts: [{ phone_number: "919812345678" }] },
    { ...json, contacts: [...contacts, { phone_number: "x" }] },
    { ...json, contacts: [...contacts, { phone_number: 919_812_345_679 }] },
    { ...json, contacts: [...contacts, { phone_number: "919812345679", variable: {} }] },
    { ...json, contacts: [5, ...contacts] },
    { ...json, contacts: [...contacts, null] },
    { ...json, contacts: [...contacts, {}] },
    { ...json, contacts: [] },
    { ...json, contacts: null },
    { ...json, name: 1 },
  ];
  for (const other of others) {
    const answer = await keyed(key, other);
    assertProblem(answer, 422, "validation-failed");
    assert.equal(answer.body.errors[0].field, "Idempotency-Key");
  }
});

test("keys are each account's and each endpoint's own", async () => {
  const key = unique("key");
  const own = await startChatApi({ databaseUrl: chat.api.database_url });
  assert.equal((await keyed(key, chat.body())).status, 201);
  const headers = { "idempotency-key": key };
  assert.equal((await own.create(own.body(), { headers })).status, 201);
  const post = (path: string, json: unknown) =>
    own.api.send("POST", path, { token: own.account.token, json, headers });
  const { body: group } = await post("/api/v1/groups", { name: "Regulars" });
  const members = [{ phone_number: uniquePhone(), variables: { "1": "Ada" } }];
  await post(`/api/v1/groups/${group.id}/members`, { members });
  const { contacts: _, ...head } = own.body({ group_id: group.id });
  const answer = await post(`${campaigns_path}/group`, head);
  assert.equal(answer.status, 201, answer.text);
  assert.equal(await own.campaignCount(), 2);
  await own.api.close();
});

test("failures are not stored: a retry with the same key works after a top-up", async () => {
  const own = await startChatApi({ credit: 1 });
  const headers = { "idempotency-key": unique("key") };
  const contacts = [{ phone_number: uniquePhone() }, { phone_number: uniquePhone() }];
  const json = own.body({ contacts });
  const send = () => own.create(json, { headers });
  assertProblem(await send(), 409, "insufficient-credit");
  assertProblem(await own.create(own.body({ name: 1 }), { headers }), 422, "validation-failed");
  assertProblem(await own.create(own.body({ contacts: [] }), { headers }), 400, "bad-request");
  await makeCredits(own.api.app, own.account, { chat: 1 });
  const answer = await send();
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.headers.get("idempotency-replayed"), null);
  await own.api.close();
});

test("twenty concurrent twins on two servers make one campaign and get one answer", async () => {
  const count = await chat.campaignCount();
  const key = unique("key");
  const json = chat.body();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => keyed(key, json, i % 2 ? twin : chat.api)),
  );
  assertOneResponse(answers);
  assert.equal(await chat.campaignCount(), count + 1);
});

test("concurrent twins that are large make one campaign, too", async () => {
  const count = await chat.campaignCount();
  const key = unique("key");
  const contacts = Array.from({ length: 12_000 }, (_, i) => ({
    phone_number: String(919_830_000_000 + i),
  }));
  const json = chat.body({ contacts });
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, i) => keyed(key, json, i % 2 ? twin : chat.api)),
  );
  assertOneResponse(answers);
  assert.equal(await chat.campaignCount(), count + 1);
  assert.equal((await chat.recipients(answers[0]!.body.id)).length, 12_000);
});
