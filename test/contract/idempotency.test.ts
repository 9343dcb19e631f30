// The Idempotency-Key of lead creation: one key, one lead, one response.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type Answer, type TestApi } from "../support/api.ts";
import { makeAccount, makeAgentToken, unique } from "../support/account-factory.ts";
import { insertWorkspace } from "../../server/crm/workspaces/insert-workspace.ts";
import { assertProblem, leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;
/** A second API on the same database, as in another process. */
let second_api: TestApi;

before(async () => {
  lead = await startLeadApi();
  second_api = await startApi({ databaseUrl: lead.api.database_url });
});
after(async () => {
  await second_api.close();
  await lead.api.close();
});

const phone = "9876543210";
const keyed = (key: string, json: unknown = { phone }) =>
  lead.create(json, { headers: { "idempotency-key": key } });

/** Asserts that all responses are equal and exactly one of them is the original. */
function assertOneResponse(answers: readonly Answer[]): void {
  const originals = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
  assert.equal(originals.length, 1);
  for (const answer of answers) {
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.text, originals[0]!.text);
  }
}

test("a repeated key gets the original response byte for byte, marked as replayed, and creates no second lead", async () => {
  const key = unique("key");
  const count = await lead.leadCount();
  const first = await keyed(key, { phone, name: "Zoë 🙂" });
  assert.equal(first.status, 201);
  assert.equal(first.headers.get("idempotency-replayed"), null);
  const second = await keyed(key, { phone, name: "Zoë 🙂" });
  assert.equal(second.status, 201);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("content-type"), first.headers.get("content-type"));
  assert.notEqual(second.headers.get("x-request-id"), first.headers.get("x-request-id"));
  assert.equal(await lead.leadCount(), count + 1);
});

test("a response with a key has the same form as one without a key", async () => {
  const plain = await lead.create({ phone });
  const withKey = await keyed(unique("key"));
  assert.deepEqual(Object.keys(withKey.body), Object.keys(plain.body));
  assert.equal(withKey.headers.get("content-type"), plain.headers.get("content-type"));
});

test("bodies are compared as parsed values, regardless of key order, spaces and escapes", async () => {
  const key = unique("key");
  const send = (raw: string) => lead.createRaw(raw, { "idempotency-key": key });
  assertOneResponse([
    await send('{"phone":"9876543210","name":"Ann"}'),
    await send('  { "name" : "\\u0041nn",\n"phone":"9876543210" }'),
    await send('\ufeff{"name":"x","name":"Ann","phone":"9876543210"}'),
  ]);
});

test("another body under the same key is 422 on Idempotency-Key", async () => {
  const key = unique("key");
  await keyed(key);
  for (const other of [{ phone, name: "Other" }, { phone: "9876543211" }, { phone: "1" }, []]) {
    const answer = await keyed(key, other);
    assertProblem(answer, 422, "validation-failed");
    assert.equal(answer.body.errors[0].field, "Idempotency-Key");
  }
});

test("the same key in another workspace is a different request", async () => {
  const { app } = lead.api;
  const { account_id, token } = lead.account;
  const other = await app.db.query
    .transaction()
    .execute((tx) => insertWorkspace(tx, account_id, { name: unique("other") }, new Date()));
  const key = unique("key");
  await keyed(key);
  const options = { token, json: { phone }, headers: { "idempotency-key": key } };
  const answer = await lead.api.send("POST", leadPath(other), options);
  assertProblem(answer, 422, "validation-failed");
  assert.equal(answer.body.errors[0].field, "Idempotency-Key");
});

test("keys belong to an account: the same key of another account creates its own lead", async () => {
  const other = await makeAccount(lead.api.app);
  const key = unique("key");
  const mine = await keyed(key);
  const theirs = await lead.api.send("POST", leadPath(other.workspace_id), {
    token: other.token,
    json: { phone },
    headers: { "idempotency-key": key },
  });
  assert.equal(theirs.status, 201);
  assert.equal(theirs.headers.get("idempotency-replayed"), null);
  assert.notEqual(theirs.body.id, mine.body.id);
});

test("a key that is empty, blank or above 255 characters is 400", async () => {
  for (const key of ["", " ", "\t", "k".repeat(256)]) {
    assertProblem(await keyed(key), 400, "bad-request");
  }
  assert.equal((await keyed("k".repeat(255))).status, 201);
  assert.equal((await keyed('any; =, "text" is/a:key')).status, 201);
});

test("a malformed body is reported before an invalid key, an invalid key before an unknown workspace", async () => {
  const broken = await lead.createRaw("{", { "idempotency-key": "" });
  assertProblem(broken, 400, "malformed-body");
  const unknown = await lead.api.send("POST", leadPath(999_999), {
    token: lead.account.token,
    json: { phone },
    headers: { "idempotency-key": "" },
  });
  assertProblem(unknown, 400, "bad-request");
});

test("errors are not stored: the same key works with a corrected request", async () => {
  const key = unique("key");
  const { account_id } = lead.account;
  const strangeId = 987_654;
  assertProblem(await keyed(key, { phone: "1" }), 422, "validation-failed");
  assertProblem(await keyed(key, { phone, assignedAgentId: strangeId }), 400, "INVALID_AGENT");
  assertProblem(await lead.createRaw("{", { "idempotency-key": key }), 400, "malformed-body");
  const stored = await lead.api.app.db.query
    .selectFrom("idempotency_keys")
    .select("key")
    .where("account_id", "=", account_id)
    .where("key", "=", key)
    .execute();
  assert.deepEqual(stored, []);
  const answer = await keyed(key);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("idempotency-replayed"), null);
});

test("concurrent requests with one key in one process create one lead and get one response", async () => {
  const key = unique("key");
  const count = await lead.leadCount();
  assertOneResponse(await Promise.all(Array.from({ length: 30 }, () => keyed(key))));
  assert.equal(await lead.leadCount(), count + 1);
});

test("concurrent requests with one key at two servers of one database create one lead and get one response", async () => {
  const count = await lead.leadCount();
  const path = leadPath(lead.account.workspace_id);
  const servers = Array.from({ length: 10 }, (_, i) => (i % 2 ? second_api : lead.api));
  for (const key of Array.from({ length: 5 }, () => unique("key"))) {
    const options = {
      token: lead.account.token,
      json: { phone },
      headers: { "idempotency-key": key },
    };
    assertOneResponse(
      await Promise.all(servers.map((server) => server.send("POST", path, options))),
    );
  }
  assert.equal(await lead.leadCount(), count + 5);
});

test("of concurrent requests with one key and two bodies, one body succeeds and the other is 422", async () => {
  const key = unique("key");
  const count = await lead.leadCount();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => keyed(key, { phone, name: `Name ${i % 2}` })),
  );
  const won = answers.filter(({ status }) => status === 201);
  const lost = answers.filter(({ status }) => status !== 201);
  assert.equal(new Set(won.map(({ text }) => text)).size, 1);
  assert.equal(lost.length, 5);
  for (const answer of lost) {
    assertProblem(answer, 422, "validation-failed");
    assert.equal(answer.body.errors[0].field, "Idempotency-Key");
  }
  assert.equal(await lead.leadCount(), count + 1);
});

test("concurrent requests with one key that fail all get the error", async () => {
  const key = unique("key");
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => keyed(key, { phone, contactId: 0 })),
  );
  for (const answer of answers) assertProblem(answer, 400, "INVALID_CONTACT");
});

test("a key is replayed even after its workspace became inactive", async () => {
  const { app } = lead.api;
  const own = await makeAccount(app);
  const options = {
    token: own.token,
    json: { phone },
    headers: { "idempotency-key": unique("key") },
  };
  const path = leadPath(own.workspace_id);
  const first = await lead.api.send("POST", path, options);
  assert.equal(first.status, 201);
  await app.db.query
    .updateTable("workspaces")
    .set((eb) => ({ active: false, schema_version: eb("schema_version", "+", 1) }))
    .where("account_id", "=", own.account_id)
    .execute();
  const again = await lead.api.send("POST", path, options);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal(again.text, first.text);
  const fresh = { ...options, headers: { "idempotency-key": unique("key") } };
  assertProblem(await lead.api.send("POST", path, fresh), 404, "not-found");
});

test("a replay needs a token of the account with the permission of the original", async () => {
  const key = unique("key");
  await keyed(key);
  const headers = { "idempotency-key": key };
  assertProblem(await lead.create({ phone }, { headers, token: undefined }), 401, "unauthorized");
  const powerless = await makeAgentToken(lead.api.app, lead.account, []);
  assertProblem(await lead.create({ phone }, { headers, token: powerless }), 403, "forbidden");
});
