// The errors of a click-to-call: their shape, their order, and that a rejected call stores no data
// (contract 5.6, 7.2).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import type { RequestOptions } from "../support/api.ts";
import { makeNode, setCalling } from "../support/telephony-factory.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeAccount, makeToken } from "../support/account-factory.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import {
  assertCallError,
  assertSubmitted,
  call_path,
  fieldsNamed,
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

const json_type = { "content-type": "application/json" };

/** Counts the rows that a click-to-call creates, and reads the available credit. */
async function countRows({ api, account }: Pick<CallApi, "api" | "account">): Promise<unknown> {
  const { rows } = await sql`
    select
      (select count(*) from call_campaigns where account_id = ${account.account_id}) as campaigns,
      (select count(*) from click_to_calls where account_id = ${account.account_id}) as requests,
      (select count(*) from calls where account_id = ${account.account_id}) as calls,
      (select count(*) from audit_entries where account_id = ${account.account_id}) as audit,
      (select count(*) from credit_reservations where account_id = ${account.account_id}) as reservations,
      (select available from credit_balances
        where account_id = ${account.account_id} and kind = 'call') as available
  `.execute(api.app.db.query);
  return rows[0];
}

test("reports the first failing check in order: 401, 403 feature, 400 fields, 403 window, 400 credit, 200", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url, credits: 1 });
  const { app } = own.api;
  const before_all = await countRows(own);
  const without = await makeAccount(app, { features: ["crm", "bulk_chat", "voice", "operator"] });
  await setCalling(app, own.account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "09:00",
  });
  const post = (options: RequestOptions) =>
    own.api.send("POST", call_path, { token: own.account.token, ...options });
  const broken = { raw: "{", headers: json_type };
  const steps: [RequestOptions, number, RegExp][] = [
    [{ ...broken, token: "nonsense" }, 401, /token/],
    [{ ...broken, token: without.token }, 403, /feature calls/],
    [broken, 400, /could not be parsed/],
    [{ json: own.body({ from_number: "x" }) }, 400, /^from_number: /],
    [{ json: own.body() }, 403, /Night calling/],
  ];
  for (const [i, [options, status, message]] of steps.entries())
    assert.match(assertCallError(await post(options), status), message, `step ${i}`);
  await setCalling(app, own.account, { night_calling: true });
  assert.match(
    assertCallError(await post({ json: own.body() }), 400),
    /Insufficient call credit: the call needs 2/,
  );
  assert.deepEqual(await countRows(own), before_all);
  await own.api.close();
});

test("a missing, malformed, unknown, expired or revoked token is 401", async () => {
  const { app } = calls.api;
  const expired = await makeToken(app, calls.account, { expires_at: new Date(0) });
  const unknown = calls.account.token.replace(/_[^_]+$/, `_${"0".repeat(64)}`);
  const headers: Record<string, string>[] = [
    {},
    { authorization: calls.account.token },
    { authorization: "Bearer" },
    { authorization: `Basic ${calls.account.token}` },
    { authorization: `Bearer ${unknown}` },
    { authorization: `Bearer ${expired}` },
  ];
  for (const header of headers) {
    const answer = await calls.submit(calls.body(), { token: undefined, headers: header });
    assert.match(assertCallError(answer, 401), /Authorization|token/);
    assert.ok(answer.headers.get("www-authenticate"));
  }
});

test("an account without the feature is 403", async () => {
  const { token } = await makeAccount(calls.api.app, { features: ["crm", "bulk_chat", "voice"] });
  assertCallError(await calls.submit(calls.body(), { token }), 403);
});

test("a body that is not JSON, and a media type other than JSON, are 400", async () => {
  for (const raw of ["", "{", "{}}", "nonsense", Buffer.from([0x7b, 0xff, 0x7d])]) {
    const { token } = calls.account;
    const answer = await calls.api.send("POST", call_path, { token, raw, headers: json_type });
    assert.match(assertCallError(answer, 400), /could not be parsed/);
  }
  const text = JSON.stringify(calls.body());
  for (const type of ["text/plain", "application/xml", "multipart/form-data; boundary=x"]) {
    const { token } = calls.account;
    const headers = { "content-type": type };
    const answer = await calls.api.send("POST", call_path, { token, raw: text, headers });
    assert.match(assertCallError(answer, 400), /application\/json/);
  }
  const deep = `{"remark":${"[".repeat(40)}${"]".repeat(40)}}`;
  const { token } = calls.account;
  assertCallError(
    await calls.api.send("POST", call_path, { token, raw: deep, headers: json_type }),
    400,
  );
});

test("a body above 1 MB is 413", async () => {
  assertCallError(await calls.submit(calls.body({ remark: "x".repeat(1_048_577) })), 413);
});

test("rejects every other method with 405 and Allow, also with a trailing slash and for uncommon methods", async () => {
  const { token } = calls.account;
  for (const path of [call_path, `${call_path}/`, `${call_path}?x=1`]) {
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const answer = await calls.api.send(method, path, { token });
      assertCallError(answer, 405);
      assert.equal(answer.headers.get("allow"), "POST");
    }
    for (const method of ["TRACE", "PROPFIND", "QUERY", "LOCK", "SEARCH"]) {
      const answer = await sendRaw(calls.api.url, [rawRequest(`${method} ${path}`)]);
      assert.equal(answer?.status, 405, method);
      assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
      assert.deepEqual(JSON.parse(answer.text), {
        status: 405,
        message: `${method} is not supported here`,
      });
    }
    const head = await calls.api.send("HEAD", path, { token });
    assert.deepEqual([head.status, head.text], [405, ""]);
  }
});

test("returns 408 for a body that times out and 400 for malformed chunked encoding, in the endpoint's error shape", async () => {
  const limits = { headers_timeout_ms: 900, request_timeout_ms: 900 };
  const impatient = await startCallApi({ databaseUrl: calls.api.database_url, limits });
  const head = (headers: Record<string, string>) =>
    rawRequest(`POST ${call_path}`, {
      authorization: `Bearer ${impatient.account.token}`,
      ...json_type,
      connection: "keep-alive",
      ...headers,
    });
  for (const [parts, status] of [
    [[head({ "content-length": "22" }), '{"to_num'], 408],
    [[head({ "transfer-encoding": "chunked" }), "zz\r\n"], 400],
  ] as const) {
    const answer = await sendRaw(impatient.api.url, parts);
    assert.equal(answer?.status, status);
    assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    const body = JSON.parse(answer.text);
    assert.deepEqual(Object.keys(body), ["status", "message"]);
    assert.equal(body.status, status);
  }
  await impatient.api.close();
});

test("with night calling off, rejects a call whose time is outside the calling window with 403 and accepts one inside", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  const before_all = await countRows(own);
  await setCalling(own.api.app, own.account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
    time_zone: "Asia/Kolkata",
  });
  own.api.app.notifications.send("token", `${own.account.account_id}:all`);
  const at = (now: string, schedulled_at?: string) => {
    own.api.clock.set(now);
    return own.submit(own.body({ schedulled_at }));
  };
  // 09:00 in Kolkata is 03:30Z, and 21:00 is 15:30Z.
  const refused = [
    await at("2026-05-01T03:29:59.999Z"),
    await at("2026-05-01T15:30:00Z"),
    await at("2026-05-01T10:00:00Z", "2026-05-01T21:00"),
    await at("2026-05-01T10:00:00Z", "2026-05-02T03:29:59Z"),
  ];
  for (const answer of refused) {
    const message = assertCallError(answer, 403);
    assert.match(message, /Night calling is disabled .* 09:00 to 21:00 \(Asia\/Kolkata\)/);
  }
  assert.deepEqual(await countRows(own), before_all);
  assertSubmitted(await at("2026-05-01T03:30:00Z"));
  assertSubmitted(await at("2026-05-01T15:29:59.999Z"));
  assertSubmitted(await at("2026-05-01T18:00:00Z", "2026-05-02T09:00"));
  await setCalling(own.api.app, own.account, { night_calling: true });
  assertSubmitted(await at("2026-05-01T18:00:00Z"));
  await own.api.close();
});

test("returns 500 without a usable trunk, and reserves nothing", async () => {
  const own = await startCallApi({ databaseUrl: calls.api.database_url });
  const { db } = own.api.app;
  const before_all = await countRows(own);
  const set = (active: boolean) =>
    db.query.updateTable("voice_nodes").set({ active }).where("id", "=", own.node_id).execute();
  await set(false);
  await makeNode(own.api.app, { connected: true });
  assert.match(assertCallError(await own.submit(own.body()), 500), /no usable trunk/);
  assert.deepEqual(await countRows(own), before_all);
  await set(true);
  assertSubmitted(await own.submit(own.body()));
  await own.api.close();
});

for (const [what, code] of [
  ["fails", "XX000"],
  ["disconnects", "57P01"],
] as const) {
  test(`returns 500 when the database ${what} during the submission, and reserves nothing`, async () => {
    const own = await startCallApi();
    const { db } = own.api.app;
    const before_all = await countRows(own);
    // Fails after the first rows are inserted.
    await db.pool.query(`
      alter function queue_call(jsonb, int, timestamptz) rename to kept_queue_call;
      create function queue_call(p_call jsonb, p_credits int, p_now timestamptz) returns bigint language plpgsql as
        $$ begin raise exception 'secret detail' using errcode = '${code}'; end $$`);
    const answer = await own.submit(own.body());
    assert.doesNotMatch(assertCallError(answer, 500), /secret/);
    assert.deepEqual(await countRows(own), before_all);
    await db.pool.query(`
      drop function queue_call(jsonb, int, timestamptz);
      alter function kept_queue_call(jsonb, int, timestamptz) rename to queue_call`);
    assertSubmitted(await own.submit(own.body()));
    await checkLedger(db.pool);
    await own.api.close();
  });
}

test("reports unknown groups of every kind at once with 400", async () => {
  const unknown = { agent_not_pick_group: "0", from_group_id: "0", to_group_id: "0" };
  const message = assertCallError(await calls.submit(calls.body(unknown)), 400);
  assert.deepEqual(fieldsNamed(message), Object.keys(unknown));
});
