// Refused launches: their errors, the order of checks, and that nothing is stored (contract 5.4, 5.6, 7.1
// and 8).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { startApi, type Answer, type RequestOptions, type TestApi } from "../support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  makeUser,
  unique,
} from "../support/account-factory.ts";
import { revokeWhileCsvWaits } from "../support/revoke-while-csv-waits.ts";
import { makeFullVoiceFile } from "../support/voice-file-factory.ts";
import { assertProblem } from "./lead-api.ts";
import {
  assertLaunched,
  assertRefused,
  formOf,
  launch_path,
  preview_path,
  startVoiceApi,
  test_call_path,
  type VoiceApi,
} from "./voice-api.ts";

let voice: VoiceApi;
/** The API of a second process on the same database. */
let twin: TestApi;

before(async () => {
  voice = await startVoiceApi();
  twin = await startApi({ databaseUrl: voice.api.database_url });
});
after(async () => {
  await twin.close();
  await voice.api.close();
});

const json_type = { "content-type": "application/json" };

/** Returns the parts of a valid launch by CSV, changed by `more`; undefined removes a part. */
function csvParts(file: string | null, more: Record<string, string | undefined> = {}) {
  const fields = {
    ...voice.body({ number: undefined, sendTo: "csv", csv_number_column: "phone" }),
    ...more,
  };
  const texts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, String(value)] as [string, string | Blob]);
  return file === null ? texts : [...texts, ["file", new Blob([file])] as [string, Blob]];
}

async function refuseCsv(
  file: string | null,
  more: Record<string, string | undefined>,
  ...fields: string[]
): Promise<string[]> {
  return assertRefused(await voice.launchForm(csvParts(file, more)), ...fields);
}

/** Counts the rows of every table that a launch writes. */
async function countRows(): Promise<unknown> {
  const { account_id } = voice.account;
  const { rows } = await sql`
    select (select count(*) from call_campaigns where account_id = ${account_id}) as campaigns,
      (select count(*) from voice_campaigns where account_id = ${account_id}) as voice_campaigns,
      (select count(*) from voice_recipients where account_id = ${account_id}) as recipients,
      (select count(*) from voice_rejects where account_id = ${account_id}) as rejects,
      (select count(*) from voice_counts where account_id = ${account_id}) as counts,
      (select count(*) from events where account_id = ${account_id}) as events,
      (select count(*) from audit_entries where account_id = ${account_id}) as audit,
      (select count(*) from jobs where account_id = ${account_id}) as jobs,
      (select count(*) from idempotency_keys where account_id = ${account_id}) as keys
  `.execute(voice.api.app.db.query);
  return rows[0];
}

test("each field that is missing, of the wrong type or beyond its limit is 422 on that field", async () => {
  const cases: [string, unknown[]][] = [
    ["campaign_name", [undefined, null, "", " ", "x".repeat(192), 1]],
    ["voice_file_id", [undefined, null, "1", 1.5, true, "", 0, -1, 2 ** 62]],
    ["call_type", [undefined, null, "", "OBD_IVR", "obd", 1]],
    ["sendTo", [undefined, null, "", "numbers", "CSV", 1]],
    ["number", [undefined, null, "", " ", 9_876_543_210, ["9876543210"], "98765", "98765432101"]],
    ["number", ["9876543210,", ",9876543210", "9876543210,,9876543211", "987654 3210"]],
    ["number", ["+919876543210", "९८७६५४३२१०", "9876543210;9876543211", "9876543210, x"]],
    ["max_retry", [0, 4, "1", 1.5, -1]],
    ["retry_after", [31, -1, "1", 1.5]],
    ["schedulled_at", ["tomorrow", "2020-01-01T00:00:00Z", "2099-02-30T00:00:00Z", 1, " "]],
    ["callback_url", ["", "x", "ftp://example.com", "http://", "http://a b", "https://[", 1]],
    ["callback_url", [`https://example.com/${"x".repeat(2_029)}`, "javascript:alert(1)"]],
    ["callback_url", [`https://example.com/${"é".repeat(1_015)}`, "http://user@example.com/"]],
    ["callback_url", ["https://:secret@example.com/"]],
    // As the URL of an endpoint: nothing in the network of the operator.
    ["callback_url", ["http://10.0.0.5/", "http://169.254.169.254/latest", "http://[::1]/"]],
    ["callback_url", ["http://2130706434/"]],
    ["crm_workspace_id", [voice.account.workspace_id, "x", "-1", "1.0", "0", "9".repeat(19)]],
    ["crm_workspace_id", ["9".repeat(20)]],
  ];
  const count = await voice.campaignCount();
  for (const [field, values] of cases)
    for (const value of values) {
      const more = field === "max_retry" ? { retry_after: 1 } : {};
      const answer = await voice.launch(voice.body({ ...more, [field]: value }));
      assert.equal(answer.status, 422, `${field} ${JSON.stringify(value)} ${answer.text}`);
      assertRefused(answer, field);
    }
  const group = { sendTo: "Group", number: undefined };
  for (const groupId of [undefined, null, "", 1, "x", "-1", "0", "9".repeat(19), "9".repeat(20)])
    await voice.refuse({ ...group, groupId }, "groupId");
  await voice.refuse({ max_retry: 2 }, "retry_after");
  await voice.refuse({ max_retry: 2, retry_after: null }, "retry_after");
  assert.equal(await voice.campaignCount(), count);
});

test("an unknown field is rejected with a suggestion of the intended field, in JSON and in a form", async () => {
  const meant = { scheduled_at: "schedulled_at", group_id: "groupId", sendto: "sendTo" };
  for (const [name, field] of Object.entries(meant)) {
    const reason = [`unknown field; did you mean ${field}?`];
    assert.deepEqual(await voice.refuse({ [name]: "2099-01-31T09:30:00Z" }, name), reason);
    assert.deepEqual(await refuseCsv("phone\n9876543210\n", { [name]: "x" }, name), reason);
  }
  assert.deepEqual(await voice.refuse({ file: "x" }, "file"), ["unknown field"]);
});

test("reports all violations at once: of the schema, of the values and of the file", async () => {
  const reasons = await voice.refuse(
    {
      campaign_name: "",
      voice_file_id: 0,
      call_type: "x",
      number: "1",
      max_retry: 1,
      schedulled_at: "x",
      callback_url: "x",
      crm_workspace_id: "0",
      y: 1,
    },
    "y",
    "campaign_name",
    "call_type",
    "callback_url",
    "voice_file_id",
    "number",
    "retry_after",
    "schedulled_at",
    "crm_workspace_id",
  );
  assert.equal(reasons.length, 9);
  const more = { campaign_name: undefined, voice_file_id: "0", csv_number_column: "x", y: "1" };
  await refuseCsv("a\n1\n", more, "y", "campaign_name", "voice_file_id", "csv_number_column");
  await refuseCsv(
    "\0",
    { ...more, csv_number_column: "" },
    "y",
    "campaign_name",
    "voice_file_id",
    "csv_number_column",
    "file",
  );
});

test("a voice file that is unknown, another account's, archived, not ready or without the content that the call type requires is 422 on voice_file_id", async () => {
  const { app } = voice.api;
  const foreign = await makeFullVoiceFile(app, await makeAccount(app));
  const file = (more: object) => makeFullVoiceFile(app, voice.account, { ...more });
  const bare = await file({ script: null, menu_id: null, ai_agent_id: null });
  const unready = await file({ status: "processing", audio_name: null });
  const cases: [string, number, RegExp][] = [
    ["obd_voice_call", foreign, /is not an active voice file of this account/],
    ["obd_voice_call", 8_000_000_000_000_001, /is not an active voice file of this account/],
    [
      "obd_voice_call",
      await file({ active: false }),
      /is not an active voice file of this account/,
    ],
    ["obd_voice_call", unready, /still processing/],
    ["obd_voice_call", await file({ status: "rejected", reason: "x" }), /was rejected/],
    ["obd_voice_call", await file({ audio_name: null }), /with audio/],
    ["obd_smartvoice", bare, /with a script/],
    ["obd_ivr", bare, /with a menu/],
    ["ai_bot", bare, /with an AI agent/],
  ];
  for (const [call_type, voice_file_id, reason] of cases) {
    const [actual] = await voice.refuse({ call_type, voice_file_id }, "voice_file_id");
    assert.match(actual!, reason);
  }
});

test("a group and a workspace that are another account's, or inactive, are 422", async () => {
  const { app } = voice.api;
  const other = await makeAccount(app);
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("groups")
    .values({ account_id: other.account_id, name: "x", created_at: now, updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  const groupId = String(id);
  await voice.refuse({ sendTo: "Group", number: undefined, groupId }, "groupId");
  await voice.refuse({ crm_workspace_id: String(other.workspace_id) }, "crm_workspace_id");
  const own = await startVoiceApi({ databaseUrl: voice.api.database_url });
  await app.db.query
    .updateTable("workspaces")
    .set({ active: false })
    .where("account_id", "=", own.account.account_id)
    .execute();
  const crm_workspace_id = String(own.account.workspace_id);
  await own.refuse({ crm_workspace_id }, "crm_workspace_id");
  await own.api.close();
});

test("an invalid CSV is 422 on file or csv_number_column, and JSON with sendTo csv is 422 on file", async () => {
  const good = "phone\n9876543210\n";
  const rows_before = await countRows();
  const column = { csv_number_column: "Phone" };
  assert.match((await refuseCsv(good, column, "csv_number_column"))[0]!, /is not a column/);
  await refuseCsv("phone,phone\n1,2\n", {}, "csv_number_column");
  await refuseCsv(good, { csv_number_column: undefined }, "csv_number_column");
  await refuseCsv(null, {}, "file");
  for (const file of ["", "\0\0", "phone\n", "phone\n12\n", 'phone\n"98'])
    await refuseCsv(file, {}, "file");
  const smart = { call_type: "obd_smartvoice" };
  assert.match((await refuseCsv(good, smart, "file"))[0]!, /must have a column "name"/);
  await refuseCsv("phone,name,name\n9876543210,a,b\n", smart, "file");
  assert.match(
    (await refuseCsv("phone,name\n9876543210,\n", smart, "file"))[0]!,
    /at least one valid/,
  );
  const body = voice.body({ sendTo: "csv", csv_number_column: "phone", number: undefined });
  assertRefused(await voice.launch(body), "file");
  assert.deepEqual(await countRows(), rows_before);
});

test("a launch without valid recipients is 422 on number or groupId", async () => {
  const [reason] = await voice.refuse({ call_type: "obd_smartvoice" }, "number");
  assert.match(reason!, /row 1 must have a value for the variable name/);
  const { app } = voice.api;
  const { account_id } = voice.account;
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("groups")
    .values({ account_id, name: unique("group"), created_at: now, updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  const groupId = String(id);
  await voice.refuse({ sendTo: "Group", number: undefined, groupId }, "groupId");
});

test("more than 1,000,000 numbers in JSON are 422 on number, and a body or a form's fields of more than 16 MB are 413", async () => {
  const [reason] = await voice.refuse(
    { number: `9876543210${",9876543210".repeat(1_000_000)}` },
    "number",
  );
  assert.match(reason!, /at most 1000000/);
  const long = "9876543210,".repeat(1_600_000);
  assertProblem(await voice.launch(voice.body({ number: long })), 413, "body-too-large");
  const form = Object.entries(voice.body({ number: long.slice(0, 16 * 1_048_576) }));
  const answer = await voice.launchForm(
    form.map(([name, value]) => [name, String(value)] as const),
  );
  assertProblem(answer, 413, "body-too-large");
});

test("reports the first failing check in order: 401, 403 feature, 403 permission, 400 body, 400 key, 422, 503, 201", async () => {
  const own = await startVoiceApi({ databaseUrl: voice.api.database_url });
  const { app } = own.api;
  const without = await makeAccount(app, { features: ["crm", "bulk_chat", "calls"] });
  const agent = await makeAgentToken(app, own.account, ["calls.read"]);
  const trunk = (active: boolean) =>
    app.db.query.updateTable("trunks").set({ active }).where("id", "=", own.trunk_id).execute();
  await trunk(false);
  const bad = { ...json_type, "idempotency-key": " " };
  const { token } = own.account;
  const json = own.body();
  const steps: [Parameters<TestApi["send"]>[2] & object, number, string][] = [
    [{ raw: "{", headers: bad, token: "nonsense" }, 401, "unauthorized"],
    [{ raw: "{", headers: bad, token: without.token }, 403, "forbidden"],
    [{ raw: "{", headers: bad, token: agent }, 403, "permission-denied"],
    [{ raw: "{", headers: bad, token }, 400, "malformed-body"],
    [{ json: {}, headers: bad, token }, 400, "bad-request"],
    [{ json: {}, token }, 422, "validation-failed"],
    [{ json, token }, 503, "unavailable"],
  ];
  for (const [i, [options, status, type]] of steps.entries()) {
    const answer = await own.api.send("POST", launch_path, options);
    assertProblem(answer, status, type);
    assert.equal(answer.headers.has("www-authenticate"), status === 401, `step ${i}`);
  }
  assert.equal(await own.campaignCount(), 0);
  await trunk(true);
  assertLaunched(await own.launch(json));
  await own.api.close();
});

test("an agent token without a role or the permission, also by its scopes, gets permission-denied; an account token without it, or of an account without the feature, gets forbidden", async () => {
  const { app } = voice.api;
  const { account } = voice;
  const create = ["voice.campaigns.create"] as const;
  const user_id = await makeUser(app, account, create);
  const scoped = { kind: "agent", user_id, scopes: ["crm.read"] } as const;
  const tokens: [string, string][] = [
    [await makeAgentToken(app, account, null), "permission-denied"],
    [await makeAgentToken(app, account, []), "permission-denied"],
    [await makeAgentToken(app, account, ["voice.campaigns.manage"]), "permission-denied"],
    [await makeToken(app, account, scoped), "permission-denied"],
    [await makeToken(app, account, { scopes: ["crm.read"] }), "forbidden"],
    [(await makeAccount(app, { features: ["crm"] })).token, "forbidden"],
  ];
  const other = await makeAccount(app, { features: ["crm"] });
  tokens.push([await makeAgentToken(app, other, null), "forbidden"]);
  for (const [token, type] of tokens)
    for (const path of [launch_path, preview_path, test_call_path])
      assertProblem(await voice.api.send("POST", path, { token, json: voice.body() }), 403, type);
  const agent = await makeAgentToken(app, account, create);
  assertLaunched(await voice.launch(voice.body(), { token: agent }));
});

test("a launch by CSV whose token was revoked while it waited for its account's other files is 401 and stores nothing", async (t) => {
  const { api, account } = voice;
  const token = await makeAgentToken(api.app, account, ["voice.campaigns.create"]);
  const stored = await voice.campaignCount();
  const [late] = await revokeWhileCsvWaits(t, api, account, token, () => [
    voice.launchForm(csvParts("phone\n9876543210\n"), { token }),
  ]);
  assertProblem(late!, 401, "unauthorized");
  assert.equal(await voice.campaignCount(), stored);
});

test("a missing, malformed, unknown or expired token is 401, whatever the body", async () => {
  const { app } = voice.api;
  const expired = await makeToken(app, voice.account, { expires_at: new Date(0) });
  const headers: Record<string, string>[] = [
    {},
    { authorization: voice.account.token },
    { authorization: `Basic ${voice.account.token}` },
    { authorization: `Bearer ${voice.account.token}0` },
    { authorization: `Bearer ${expired}` },
  ];
  for (const header of headers) {
    const answer = await voice.launch(voice.body(), { token: undefined, headers: header });
    assertProblem(answer, 401, "unauthorized");
    assert.ok(answer.headers.get("www-authenticate"));
  }
});

test("a body that is not JSON is 400 malformed-body, a malformed form is 400 bad-request, another media type is 415, another method is 405", async () => {
  const { token } = voice.account;
  const send = (raw: string | Buffer, type: string) =>
    voice.api.send("POST", launch_path, { token, raw, headers: { "content-type": type } });
  for (const raw of ["", "{", "{}}", "nonsense", Buffer.from([0x7b, 0xff, 0x7d])])
    assertProblem(await send(raw, "application/json"), 400, "malformed-body");
  const text = JSON.stringify(voice.body());
  for (const type of ["text/csv", "application/xml"])
    assertProblem(await send(text, type), 415, "unsupported-media-type");
  assertProblem(await send("--b\r\n", "multipart/form-data; boundary=b"), 400, "bad-request");
  assertLaunched(await send(text, "application/JSON; charset=UTF-8"));
  for (const body of ["[]", "1", "null", '"x"']) {
    const answer = await send(body, "application/json");
    assertProblem(answer, 422, "validation-failed");
  }
  assertRefused(
    await send(text.replace("Delivery", "\\ud800"), "application/json"),
    "campaign_name",
  );
  for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
    const answer = await voice.api.send(method, launch_path, { token });
    assertProblem(answer, 405, "method-not-allowed");
    assert.equal(answer.headers.get("allow"), "POST");
  }
  assertLaunched(await voice.api.send("POST", `${launch_path}/`, { token, json: voice.body() }));
});

/** Launches a valid form with one more part: unknown, repeated, a file for text, or text that cannot be stored. */
async function launchWithInvalidParts(under: RequestOptions): Promise<Answer[]> {
  const parts = csvParts("phone\n9876543210\n");
  const answers: Answer[] = [];
  for (const part of [
    ["scheduled_at", "2030-01-01T10:00:00Z"],
    ["campaign_name", "Other"],
    ["callback_url", new Blob(["https://example.com"])],
    ["file", new Blob(["phone\n9876543211\n"])],
    ["crm_workspace_id", "\0"],
  ] as const)
    answers.push(await voice.launchForm([...parts, part], under));
  return answers;
}

test("a repeated Idempotency-Key returns the first response byte for byte, by JSON and by form, and launches nothing", async () => {
  const { token } = voice.account;
  const count = await voice.campaignCount();
  const base = unique("key");
  const under = (key: string) => ({ token, headers: { "idempotency-key": key } });
  const launches: ((key: string, api: TestApi) => Promise<Answer>)[] = [
    (key, api) => api.send("POST", launch_path, { ...under(key), json: voice.body() }),
    (key, api) => {
      const raw = formOf(csvParts("phone\n9876543210\n"));
      return api.send("POST", launch_path, { ...under(key), raw });
    },
  ];
  for (const [i, launch] of launches.entries()) {
    const own = `${base}-${i}`;
    const twins = await Promise.all([
      launch(own, voice.api),
      launch(own, twin),
      launch(own, voice.api),
    ]);
    for (const answer of [...twins, await launch(own, twin)]) {
      assertLaunched(answer);
      assert.equal(answer.text, twins[0].text);
    }
    const replayed = await launch(own, twin);
    assert.equal(replayed.headers.get("idempotency-replayed"), "true");
    assert.equal(await voice.campaignCount(), count + i + 1);
  }
  const others: Answer[] = [
    await voice.launch(voice.body({ campaign_name: "Other" }), under(`${base}-0`)),
    await voice.launch({}, under(`${base}-0`)),
    await voice.launchForm(csvParts("phone\n9876543211\n"), under(`${base}-1`)),
    await voice.launch(voice.body(), under(`${base}-1`)),
    ...(await launchWithInvalidParts(under(`${base}-1`))),
  ];
  for (const answer of others) assertRefused(answer, "Idempotency-Key");
  for (const blank of ["", " ", "x".repeat(256)])
    assertProblem(await voice.launch(voice.body(), under(blank)), 400, "bad-request");
  // A failed response is not stored: the corrected request succeeds with the same key.
  const corrected = unique("key");
  assertRefused(await voice.launch(voice.body({ number: "1" }), under(corrected)), "number");
  assertLaunched(await voice.launch(voice.body(), under(corrected)));
});

test("ten concurrent uploads under one Idempotency-Key launch one campaign, and ten under different keys launch ten", async () => {
  const { token } = voice.account;
  const upload = (key: string) => {
    const raw = formOf(csvParts("phone\n9876543210\n"));
    return voice.api.send("POST", launch_path, { token, raw, headers: { "idempotency-key": key } });
  };
  const count = await voice.campaignCount();
  const key = unique("key");
  const twins = await Promise.all(Array.from({ length: 10 }, () => upload(key)));
  assert.equal(new Set(twins.map(assertLaunched)).size, 1);
  assert.equal(await voice.campaignCount(), count + 1);
  const others = await Promise.all(Array.from({ length: 10 }, () => upload(unique("key"))));
  assert.equal(new Set(others.map(assertLaunched)).size, 10);
  assert.equal(await voice.campaignCount(), count + 11);
});
