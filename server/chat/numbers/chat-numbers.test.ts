import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { sql } from "kysely";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { makeChatCampaign, makeChatTemplate } from "../../../test/support/chat-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  makeToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openScriptedProvider } from "../../../test/support/scripted-provider.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";

const provider = openScriptedProvider();
let api: TestApi;
let account: TestAccount;
let other: TestAccount;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: provider.driver } });
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
});
after(() => api.close());

const base = "/api/v1/chat/numbers";
const send = (method: string, path: string, json?: unknown, by = account, headers = {}) =>
  api.send(method, base + path, {
    token: by.token,
    headers,
    ...(json === undefined ? {} : { json }),
  });
const whatsapp = (more: object = {}) => ({
  name: "Sales",
  phone_number: "+91 98765-43210",
  driver: "whatsapp",
  provider_phone_number_id: unique("pn"),
  business_account_id: unique("ba"),
  ...more,
});
const sandbox = (more: object = {}) => ({
  name: "Sales",
  phone_number: "919876543210",
  driver: "sandbox",
  ...more,
});
const actions = async (subject: number) => {
  const rows = await api.app.db.query
    .selectFrom("audit_entries")
    .select("action")
    .where("account_id", "=", account.account_id)
    .where("subject_id", "=", String(subject))
    .where("action", "like", "chat_%")
    .orderBy("id")
    .execute();
  return rows.map(({ action }) => action);
};
const routesOf = async (provider_id: string) =>
  api.app.db.query
    .selectFrom("chat_routes")
    .select(["kind", "account_id", "chat_number_id"])
    .where("provider_id", "=", provider_id)
    .execute();

test("creates a number with its fields, webhook routes and template sync job", async () => {
  const asked = whatsapp({ rate_per_second: 250 });
  const { status, body } = await send("POST", "", asked);
  assert.equal(status, 201);
  const { id, created_at, updated_at } = body;
  assert.deepEqual(body, {
    id,
    ...asked,
    phone_number: "919876543210",
    quality: "UNKNOWN",
    marketing_onboarded: false,
    active: true,
    holds: [],
    created_at,
    updated_at,
  });
  assert.deepEqual((await send("GET", `/${id}`)).body, body);
  const { account_id } = account;
  assert.deepEqual(await routesOf(asked.provider_phone_number_id), [
    { kind: "phone_number", account_id, chat_number_id: id },
  ]);
  assert.deepEqual(await routesOf(asked.business_account_id), [
    { kind: "business_account", account_id, chat_number_id: null },
  ]);
  const job = await api.app.db.query
    .selectFrom("jobs")
    .select("payload")
    .where("account_id", "=", account_id)
    .where("kind", "=", "chat.sync_templates")
    .where("subject", "=", `whatsapp:${asked.business_account_id}`)
    .executeTakeFirstOrThrow();
  const { business_account_id } = asked;
  assert.deepEqual(job.payload, { driver: "whatsapp", business_account_id });
  assert.deepEqual(await actions(id), ["chat_number.created"]);
});

test("sandbox numbers have distinct IDs and share a business account", async () => {
  const one = (await send("POST", "", sandbox())).body;
  const two = (await send("POST", "", sandbox({ rate_per_second: null }))).body;
  assert.notEqual(one.provider_phone_number_id, two.provider_phone_number_id);
  assert.equal(one.business_account_id, two.business_account_id);
  assert.equal(two.rate_per_second, 80);
  const theirs = (await send("POST", "", sandbox(), other)).body;
  assert.notEqual(theirs.business_account_id, one.business_account_id);
});

test("reports every invalid field of a new number", async () => {
  const cases: [object, string[]][] = [
    [{}, ["name", "phone_number", "driver"]],
    [whatsapp({ name: " " }), ["name"]],
    [whatsapp({ name: "x".repeat(256) }), ["name"]],
    [whatsapp({ phone_number: "12" }), ["phone_number"]],
    [whatsapp({ phone_number: "" }), ["phone_number"]],
    [whatsapp({ phone_number: 919876543210 }), ["phone_number"]],
    [whatsapp({ driver: "telegram" }), ["driver"]],
    [whatsapp({ provider_phone_number_id: "a b" }), ["provider_phone_number_id"]],
    [whatsapp({ business_account_id: "" }), ["business_account_id"]],
    [whatsapp({ rate_per_second: 0 }), ["rate_per_second"]],
    [whatsapp({ rate_per_second: 1_001 }), ["rate_per_second"]],
    [whatsapp({ rate_per_second: "80" }), ["rate_per_second"]],
    [whatsapp({ active: true }), ["active"]],
    [
      { name: "x", phone_number: "1", driver: "whatsapp" },
      ["phone_number", "provider_phone_number_id", "business_account_id"],
    ],
    [sandbox({ provider_phone_number_id: "1" }), ["provider_phone_number_id"]],
    [sandbox({ business_account_id: "1" }), ["business_account_id"]],
  ];
  for (const [json, fields] of cases) {
    assert.deepEqual(failingFields(await send("POST", "", json)), fields, JSON.stringify(json));
  }
});

test("a provider's ID belongs to one account, and the owner is not disclosed", async () => {
  const mine = whatsapp();
  assert.equal((await send("POST", "", mine)).status, 201);
  const theirs = await send("POST", "", { ...mine, name: "Mine now" }, other);
  assert.deepEqual(theirs.body.errors, [
    { field: "provider_phone_number_id", reason: "is already in use" },
    { field: "business_account_id", reason: "is already in use" },
  ]);
  const again = await send("POST", "", mine);
  assert.deepEqual(failingFields(again), ["provider_phone_number_id"]);
  // A second number of the same business account is allowed.
  const sibling = whatsapp({ business_account_id: mine.business_account_id });
  assert.equal((await send("POST", "", sibling)).status, 201);
  const listed = await send("GET", "?limit=200", undefined, other);
  assert.ok(listed.body.data.every(({ name }: { name: string }) => name !== "Mine now"));
});

test("only an operator adds a WhatsApp number, and the account then has it", async () => {
  const tenant = await makeAccount(api.app, { features: ["bulk_chat"] });
  const theirs = whatsapp();
  const refused = await send("POST", "", theirs, tenant);
  assert.deepEqual([refused.status, refused.body.type.split("/").pop()], [403, "forbidden"]);
  assert.deepEqual(await routesOf(theirs.provider_phone_number_id), []);
  const elsewhere = sandbox({ account_id: account.account_id });
  assert.equal((await send("POST", "", elsewhere, tenant)).status, 403);
  const narrow = await makeToken(api.app, account, { scopes: ["chat.manage"] });
  assert.equal((await send("POST", "", whatsapp(), { ...account, token: narrow })).status, 403);

  const bound = await send("POST", "", { ...theirs, account_id: tenant.account_id });
  assert.equal(bound.status, 201, bound.text);
  const { id } = bound.body;
  assert.equal((await send("GET", `/${id}`, undefined, tenant)).status, 200);
  assert.equal((await send("GET", `/${id}`)).status, 404);
  assert.deepEqual(await actions(id), ["chat_number.bound"]);
  const trail = await api.send("GET", "/api/v1/audit?action=chat_number.created", {
    token: tenant.token,
  });
  assert.deepEqual(
    trail.body.data.map((entry: Record<string, unknown>) => [
      entry["subject_id"],
      entry["user_id"],
    ]),
    [[String(id), null]],
  );
  const nowhere = await send("POST", "", whatsapp({ account_id: 999_999_999 }));
  assert.deepEqual(failingFields(nowhere), ["account_id"]);
  // A sandbox number of the own account needs no operator.
  const own = sandbox({ account_id: tenant.account_id });
  assert.equal((await send("POST", "", own, tenant)).status, 201);
  assert.equal((await send("POST", "", sandbox(), tenant)).status, 201);
});

test("only one of two accounts that claim the same ID concurrently gets it", async () => {
  const asked = whatsapp();
  const answers = await Promise.all(
    [account, other, account, other].map((by) => send("POST", "", asked, by)),
  );
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 422, 422, 422],
  );
});

test("creates a number once under a repeated idempotency key", async () => {
  const headers = { "idempotency-key": unique("key") };
  const asked = whatsapp();
  const first = await send("POST", "", asked, account, headers);
  const second = await send("POST", "", asked, account, headers);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get("idempotency-replayed"), "true");
});

test("a patch changes name and rate and notifies the sender", async () => {
  const { id } = (await send("POST", "", whatsapp())).body;
  const notified: string[] = [];
  api.app.notifications.on("chat_work", (subject) => notified.push(subject));
  const { status, body } = await send("PATCH", `/${id}`, { name: "New", rate_per_second: 7 });
  assert.deepEqual([status, body.name, body.rate_per_second], [200, "New", 7]);
  assert.ok(notified.includes(`${account.account_id}:${id}`));
  for (const [json, fields] of [
    [{}, ["body"]],
    [{ rate_per_second: 1_001 }, ["rate_per_second"]],
    [{ active: null }, ["active"]],
    [{ driver: "sandbox" }, ["driver"]],
    [{ phone_number: "919876543210" }, ["phone_number"]],
  ] as const) {
    assert.deepEqual(failingFields(await send("PATCH", `/${id}`, json)), fields);
  }
  assert.equal((await send("PATCH", `/${id}`, { name: "Theirs" }, other)).status, 404);
  assert.equal((await send("GET", `/${id}`)).body.name, "New");
});

test("a number with unfinished campaigns stays active, and a number with any campaign cannot be deleted", async () => {
  const number = (await send("POST", "", whatsapp())).body;
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  await makeCredits(api.app, account, { chat: 10 });
  const recipients = [{ phone: "919876543210" }];
  const campaign_id = await makeChatCampaign(api.app, account, number, template_id, recipients);
  const stop = () => send("PATCH", `/${number.id}`, { active: false });
  assert.equal((await stop()).status, 409);
  assert.equal((await send("DELETE", `/${number.id}`)).status, 409);
  assert.equal((await send("GET", `/${number.id}`)).body.active, true);
  await api.app.db.query
    .updateTable("chat_campaigns")
    .set({ state: "completed", finished_at: new Date() })
    .where("account_id", "=", account.account_id)
    .where("id", "=", campaign_id)
    .execute();
  assert.deepEqual([(await stop()).status, (await stop()).body.active], [200, false]);
  assert.equal((await send("DELETE", `/${number.id}`)).status, 409);
});

test("deleting a number releases its IDs for every account", async () => {
  const asked = whatsapp();
  const { id } = (await send("POST", "", asked)).body;
  assert.equal((await send("DELETE", `/${id}`, undefined, other)).status, 404);
  assert.equal((await send("DELETE", `/${id}`)).status, 204);
  assert.equal((await send("GET", `/${id}`)).status, 404);
  assert.equal((await send("POST", "", asked, other)).status, 201);
  assert.deepEqual(await actions(id), ["chat_number.created", "chat_number.deleted"]);
});

test("a sync stores the provider's values, and a failed sync changes nothing", async () => {
  const { id, ...created } = (await send("POST", "", whatsapp())).body;
  const synced = await send("POST", `/${id}/sync`);
  assert.equal(synced.status, 200);
  assert.deepEqual(
    [synced.body.quality, synced.body.marketing_onboarded, synced.body.name],
    ["YELLOW", true, created.name],
  );
  provider.number = { ...provider.number, quality: "RED" };
  for (const [failure, status] of [
    [new ChatSendError("rejected", "no such number (100)", { code: 100 }), 422],
    [new ChatSendError("unreachable", "away"), 503],
    [new ChatSendError("throttled", "busy", { retry_after_ms: 1 }), 503],
    [new ChatSendError("unknown", "cut off"), 503],
  ] as const) {
    provider.failure = failure;
    const answer = await send("POST", `/${id}/sync`);
    assert.equal(answer.status, status, answer.text);
    if (status === 422) {
      const [error] = answer.body.errors;
      assert.equal(error.field, "provider_phone_number_id");
      assert.match(error.reason, /no such number \(100\)/);
    } else assert.ok(answer.headers.get("retry-after"));
  }
  provider.failure = null;
  assert.equal((await send("GET", `/${id}`)).body.quality, "YELLOW");
  assert.equal((await send("POST", `/${id}/sync`, undefined, other)).status, 404);
});

test("reports a driver that is not configured on this server", async () => {
  const { id } = (await send("POST", "", sandbox())).body;
  const answer = await send("POST", `/${id}/sync`);
  assert.equal(answer.status, 409);
  assert.match(answer.body.detail, /sandbox/);
});

const upload = (id: number, file: Buffer | string | null, name = "a.bin", by = account) => {
  const form = new FormData();
  if (file !== null) form.set("file", new Blob([file]), name);
  else form.set("other", "x");
  return api.send("POST", `${base}/${id}/media`, { token: by.token, raw: form });
};

test("detects header media by content and uploads it to the provider", async () => {
  const { id } = (await send("POST", "", whatsapp())).body;
  const files: [string, Buffer | string][] = [
    ["image/jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2])],
    ["image/png", Buffer.from("\x89PNG\r\n\x1a\n...", "latin1")],
    ["application/pdf", "%PDF-1.7\n"],
    ["video/mp4", Buffer.from("\0\0\0\x18ftypisom....", "latin1")],
  ];
  for (const [mime_type, bytes] of files) {
    const { status, body } = await upload(id, bytes, "a.txt");
    assert.equal(status, 201);
    const size_bytes = bytes.length;
    assert.deepEqual(body, { id: `${mime_type} a.txt ${size_bytes}`, mime_type, size_bytes });
  }
  for (const bytes of ["hello", "", "GIF89a", Buffer.from("\0\0\0\x18ftypqt  ....", "latin1")]) {
    assert.deepEqual(failingFields(await upload(id, bytes, "a.png")), ["file"]);
  }
  assert.deepEqual(failingFields(await upload(id, null)), ["other"]);
  assert.equal((await upload(id, "%PDF-1.7", "a.pdf", other)).status, 404);
  const most = Buffer.alloc(16 * 1_048_576, " ");
  most.write("%PDF-1.7");
  assert.equal((await upload(id, most)).body.size_bytes, most.length);
  assert.equal((await upload(id, Buffer.concat([most, Buffer.from(" ")]))).status, 413);
  assert.equal((await actions(id)).filter((action) => action === "chat_media.uploaded").length, 5);
});

test("of the files in an MP4 container, accepts those with a brand of MP4 video only", async () => {
  const { id } = (await send("POST", "", whatsapp())).body;
  const file = (major: string, compatible: string) =>
    Buffer.from(`\0\0\0\x20ftyp${major}\0\0\x02\0${compatible}`, "latin1");
  for (const bytes of [
    file("isom", "isomiso2avc1mp41"),
    file("iso6", "mp41dash"),
    file("mp42", "isommp41M4A "),
    file("M4V ", "M4V M4A mp42isom"),
    file("MSNV", "MSNVmp42isom"),
  ]) {
    const { status, text, body } = await upload(id, bytes);
    assert.equal(status, 201, text);
    assert.equal(body.mime_type, "video/mp4");
  }
  for (const bytes of [
    file("heic", "mif1heic"),
    file("mif1", "mif1heic"),
    file("avif", "mif1avif"),
    file("M4A ", "M4A mp42isom"),
    file("3gp4", "isom3gp4"),
    Buffer.from("\0\0\0\x20ftyp", "latin1"),
  ]) {
    const answer = await upload(id, bytes, "a.mp4");
    assert.deepEqual(failingFields(answer), ["file"]);
    assert.match(answer.text, /must be a JPEG, PNG, MP4 or PDF file/);
  }
});

test("a media upload whose token is revoked before its file is processed is 401, and reaches no provider", async () => {
  const by = await makeAccount(api.app);
  const { id } = (await send("POST", "", whatsapp(), by)).body;
  const token = await makeAgentToken(api.app, by, ["chat.manage"]);
  const before_it = provider.requested.length;
  const { answer } = await api.app.db.query.transaction().execute(async (tx) => {
    // After its token was checked, the request reads the number.
    await sql`lock table chat_numbers in access exclusive mode`.execute(tx);
    const uploading = upload(id, "%PDF-1.7", "a.pdf", { ...by, token });
    await awaitsLock(api.app.db.query);
    const revoke = `/api/v1/tokens/${token.split("_")[2]}/revoke`;
    assert.equal((await api.send("POST", revoke, { token: by.token })).status, 200);
    await eventually(async () => (await api.send("GET", "/api/v1/me", { token })).status === 401);
    return { answer: uploading };
  });
  assert.equal((await answer).status, 401);
  assert.deepEqual(provider.requested.slice(before_it), []);
});

test("lists numbers by ID across pages, each with its own holds and the account's", async () => {
  const by = await makeAccount(api.app);
  const ids: number[] = [];
  for (let i = 0; i < 5; i++) ids.push((await send("POST", "", sandbox(), by)).body.id);
  const set_at = new Date("2026-01-01T00:00:00Z");
  const held = { account_id: by.account_id, set_at, detail: null };
  await api.app.db.query
    .insertInto("chat_holds")
    .values([
      { ...held, scope: "number", subject_id: ids[1]!, reason: "sender_restricted" },
      { ...held, scope: "account", subject_id: 0, reason: "auth" },
      { ...held, scope: "campaign", subject_id: ids[1]!, reason: "manual" },
    ])
    .execute();
  const seen: { id: number; holds: { reason: string }[] }[] = [];
  let cursor: string | null = "";
  do {
    const query: string = cursor ? `?limit=2&cursor=${cursor}` : "?limit=2";
    const { body } = await send("GET", query, undefined, by);
    seen.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(
    seen.map(({ id }) => id),
    ids,
  );
  assert.deepEqual(
    seen.map(({ holds }) => holds.map(({ reason }) => reason).join()),
    ["auth", "auth,sender_restricted", "auth", "auth", "auth"],
  );
  assert.deepEqual(failingFields(await send("GET", "?cursor=x", undefined, by)), ["cursor"]);
});
