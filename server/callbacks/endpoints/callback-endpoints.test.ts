import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "kysely";
import { Webhook } from "standardwebhooks";
import Value from "typebox/value";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import {
  assertLaunched,
  assertRefused,
  startVoiceApi,
  type VoiceApi,
} from "../../../test/contract/voice-api.ts";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { lasting_lease, makeEvents } from "../../../test/support/callback-factory.ts";
import {
  openCallbackReceiver,
  type CallbackReceiver,
  type Received,
} from "../../../test/support/callback-receiver.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import { clearEndpoint } from "./clear-endpoint.ts";
import { deleteEndpoint } from "./delete-endpoint.ts";
import { openDeliverers, type Deliverers } from "../deliveries/open-deliverers.ts";
import { ensureCampaignEndpoint } from "./ensure-campaign-endpoint.ts";
import { eventCatalogue, type EventType } from "../../engine/event-catalogue.ts";
import { relayEvents } from "../../engine/relay-events.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { applyRetention } from "../../retention/apply-retention.ts";

const endpoints = "/api/v1/callbacks/endpoints";
const never = new AbortController().signal;

let voice: VoiceApi;
let api: TestApi;
/** Another process on the same database. */
let other: TestApi;
let receiver: CallbackReceiver;
let deliverers: Deliverers;

before(async () => {
  voice = await startVoiceApi();
  api = voice.api;
  other = await startApi({ databaseUrl: api.database_url });
  receiver = await openCallbackReceiver();
  deliverers = openDeliverers(api.app, lasting_lease);
});
after(async () => {
  await deliverers.stop();
  await receiver.close();
  await other.close();
  await api.close();
});

/** A URL that refuses connections. */
const nowhere = () => `http://127.0.0.1:9/${unique("callbacks")}`;

type Sent = { json?: unknown; headers?: Record<string, string> };

/** A client of the routes with one account's token. */
function ownerOf({ account_id, token }: TestAccount) {
  const send = (method: string, path: string, more: Sent = {}) =>
    api.send(method, `${endpoints}${path}`, { token, ...more });
  return {
    account_id,
    send,
    list: (query = "") => send("GET", query),
    create: (json: unknown, more: Sent = {}) => send("POST", "", { json, ...more }),
    patch: (id: number, json: unknown) => send("PATCH", `/${id}`, { json }),
    async take(more: object = {}): Promise<number> {
      const { status, body, text } = await send("POST", "", { json: { url: nowhere(), ...more } });
      assert.equal(status, 201, text);
      return body.id as number;
    },
    async audited(id: number): Promise<[string, unknown][]> {
      const answer = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token });
      const entries = answer.body.data as { action: string; detail: unknown }[];
      return entries
        .filter(({ action }) => action.startsWith("callback_endpoint."))
        .map(({ action, detail }) => [action.replace("callback_endpoint.", ""), detail]);
    },
  };
}
const newOwner = async () => ownerOf(await makeAccount(api.app));

/** Relays and delivers until the condition holds. */
const whileDelivering = (holds: () => boolean) =>
  eventually(async () => {
    await relayEvents(api.app, never);
    await deliverers.startDue();
    return holds();
  });
const callbacksAt = (path: string) =>
  receiver.received.filter((callback) => callback.path === path);
const idOf = ({ headers }: Received) => String(headers["webhook-id"]);

test("an endpoint receives all event types unless it names some, and its secret is returned on creation", async () => {
  const owner = await newOwner();
  const url = nowhere();
  const types = ["call.completed", "lead.created"];
  const { status, body } = await owner.create({ url, description: "The shop", types });
  assert.equal(status, 201);
  const { secret, ...rest } = body;
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const { id, created_at, updated_at } = rest;
  assert.deepEqual(rest, {
    id,
    kind: "account",
    url,
    description: "The shop",
    types,
    enabled: true,
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    resume_at: null,
    created_at,
    updated_at,
  });
  assert.deepEqual((await owner.send("GET", `/${id}`)).body, rest);
  assert.deepEqual((await owner.list()).body, { data: [rest], next_cursor: null });
  const shown = await owner.send("GET", `/${id}/secret`);
  assert.deepEqual([shown.status, shown.body], [200, { secret, old_secret_until: null }]);
  for (const more of [{}, { types: null, description: null }]) {
    const all = await owner.create({ url, ...more });
    assert.deepEqual([all.body.types, all.body.description], [null, ""]);
    assert.notEqual(all.body.secret, secret);
  }
  const entries = [
    ["secret_read", {}],
    ["created", { types }],
  ];
  assert.deepEqual(await owner.audited(id), entries);
});

test("reports every invalid field at once: shape, URL and each unknown type", async () => {
  const owner = await newOwner();
  const reasons = assertRefused(
    await owner.create({
      url: "http://10.0.0.1/",
      description: "x".repeat(256),
      types: ["call.complete", "lead.created", "nothing at all"],
      secret: "mine",
    }),
    "secret",
    "description",
    "url",
    "types.0",
    "types.2",
  );
  assert.match(reasons[2]!, /^10\.0\.0\.1 is .*CALLBACK_ALLOW/);
  assert.equal(reasons[3], "must be an event type; did you mean call.completed?");
  assert.equal(reasons[4], "must be an event type");
  const id = await owner.take();
  const cases: [string, unknown[]][] = [
    ["url", [null, 1, "", "x", "ftp://example.com", "http://", "http://user@example.com/", "/x"]],
    ["url", ["https://:secret@example.com/", `http://127.0.0.1/${"x".repeat(2_048)}`]],
    ["url", ["http:example.com", " http://example.com", "http://exa\nmple.com/", "http://[::1"]],
    ["url", ["http://example.com:99999/", "http://0xa.1/", ["http://a.example"]]],
    ["types", [[], "call.completed", ["lead.created", "lead.created"]]],
    // None of them is checked individually.
    ["types", [Array.from({ length: 50_000 }, (_, i) => `call.${i}`)]],
    ["types.0", [["Lead.Created"], ["toString"], [1]]],
    ["description", [1, "x".repeat(256)]],
  ];
  for (const [field, values] of cases)
    for (const value of values) {
      assertRefused(await owner.create({ url: nowhere(), [field.split(".")[0]!]: value }), field);
      assertRefused(await owner.patch(id, { [field.split(".")[0]!]: value }), field);
    }
  assertRefused(await owner.create({}), "url");
  assertRefused(await owner.patch(id, { enabled: null }), "enabled");
  assertRefused(await owner.patch(id, { kind: "campaign" }), "kind");
  assert.equal((await owner.patch(id, {})).status, 422);
  assert.equal((await owner.list()).body.data.length, 1);
});

test("a user sends no events to an endpoint that their permissions do not show", async () => {
  const account = await makeAccount(api.app);
  const owner = ownerOf(account);
  const token = await makeAgentToken(api.app, account, ["callbacks.manage", "crm.read"]);
  const user = ownerOf({ ...account, token });
  const hidden = (answer: Answer) => {
    const [reason] = assertRefused(answer, "types");
    return ["call.completed", "lead.created"].map((type) => reason!.includes(type));
  };
  assert.deepEqual(hidden(await user.create({ url: nowhere() })), [true, false]);
  assert.deepEqual(hidden(await user.create({ url: nowhere(), types: null })), [true, false]);
  const types = ["lead.created", "call.completed"];
  assert.deepEqual(hidden(await user.create({ url: nowhere(), types })), [true, false]);
  const own = await user.take({ types: ["lead.created"] });
  assert.deepEqual(hidden(await user.patch(own, { types })), [true, false]);
  assert.deepEqual(hidden(await user.patch(own, { types: null })), [true, false]);
  assert.equal((await user.patch(own, { url: nowhere(), types: ["lead.updated"] })).status, 200);

  const theirs = await owner.take({ types });
  assert.deepEqual(hidden(await user.patch(theirs, { url: nowhere() })), [true, false]);
  const { url } = (await owner.send("GET", `/${theirs}`)).body;
  const same = { url, types, description: "The shop", enabled: false };
  assert.equal((await user.patch(theirs, same)).status, 200);
  assert.equal((await user.patch(theirs, { types: ["call.completed"] })).status, 200);
  assert.equal((await owner.patch(theirs, { url: nowhere(), types: null })).status, 200);
  const from = "2026-01-01T00:00:00Z";
  assert.equal((await owner.patch(theirs, { enabled: true })).status, 200);
  assert.equal((await user.send("POST", `/${theirs}/replay`, { json: { from } })).status, 202);
});

test("a user redirects no events that their permissions do not show by changing the types too, or first", async () => {
  const account = await makeAccount(api.app);
  const owner = ownerOf(account);
  const token = await makeAgentToken(api.app, account, ["callbacks.manage", "crm.read"]);
  const user = ownerOf({ ...account, token });
  const types = ["lead.created"];
  const elsewhere = () => new URL(`/${unique("redirected")}`, receiver.url).href;
  const hidden = (answer: Answer) => {
    const [reason] = assertRefused(answer, "url");
    assert.match(reason!, /such as call\.completed$/);
  };
  const unused = await owner.take({ types: ["call.completed"] });
  hidden(await user.patch(unused, { url: elsewhere(), types }));
  const narrowed = { types, enabled: true };
  assert.equal((await user.patch(unused, narrowed)).status, 200);
  assert.equal((await user.patch(unused, { url: elsewhere() })).status, 200, "without deliveries");

  const theirs = await owner.take({ types: ["call.completed", "lead.created"] });
  await makeEvents(api.app, account, [{ type: "call.completed" }, { type: "lead.created" }]);
  await relayEvents(api.app, never);
  hidden(await user.patch(theirs, { url: elsewhere(), types }));
  assert.equal((await user.patch(theirs, narrowed)).status, 200);
  hidden(await user.patch(theirs, { url: elsewhere() }));
  hidden(await user.patch(theirs, { url: elsewhere(), types }));
  assert.equal((await owner.patch(theirs, { url: elsewhere() })).status, 200);
});

test("endpoints are listed in pages, by kind, by URL, and by whether they are enabled", async () => {
  const owner = await newOwner();
  const [first, second, third] = [await owner.take(), await owner.take(), await owner.take()];
  await owner.patch(second, { enabled: false });
  const { account_id } = owner;
  await api.app.db.query
    .transaction()
    .execute((tx) =>
      ensureCampaignEndpoint(tx, account_id, nowhere(), api.clock.now(), api.app.secrets),
    );
  const ids = async (query: string) =>
    (await owner.list(query)).body.data.map(({ id }: { id: number }) => id);
  const [campaigns] = await ids("?kind=campaign");
  assert.deepEqual(await ids("?kind=account"), [first, second, third]);
  assert.deepEqual(await ids("?enabled=true"), [first, third, campaigns]);
  assert.deepEqual(await ids("?kind=account&enabled=false"), [second]);
  const { url } = (await owner.send("GET", `/${third}`)).body;
  assert.deepEqual(await ids(`?url=${encodeURIComponent(url)}`), [third]);
  assert.deepEqual(await ids(`?url=${encodeURIComponent(`${url}/`)}`), []);
  const { body } = await owner.list("?limit=2&kind=account");
  assert.deepEqual(await ids(`?limit=2&kind=account&cursor=${body.next_cursor}`), [third]);
  assertRefused(await owner.list("?kind=all"), "kind");
});

test("an account has at most 50 endpoints, also when several are created concurrently", async () => {
  const owner = await newOwner();
  const { account_id } = owner;
  const made = {
    account_id,
    secret: Buffer.alloc(32),
    created_at: new Date(),
    updated_at: new Date(),
  };
  const of = (kind: string, deleted_at: Date | null, count: number) =>
    Array.from({ length: count }, () => ({ ...made, kind, deleted_at, url: nowhere() }));
  const rows = [
    ...of("account", null, 48),
    ...of("account", new Date(), 3),
    ...of("campaign", null, 3),
  ];
  await api.app.db.query.insertInto("callback_endpoints").values(rows).execute();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => owner.create({ url: nowhere() })),
  );
  const taken = answers.filter(({ status }) => status === 201);
  assert.equal(taken.length, 2);
  for (const answer of answers) if (!taken.includes(answer)) assertProblem(answer, 409, "conflict");
  await owner.send("DELETE", `/${taken[0]!.body.id}`);
  assert.equal((await owner.create({ url: nowhere() })).status, 201);
});

test("a repeated Idempotency-Key creates nothing twice, returns no secret, and stores none", async () => {
  const owner = await newOwner();
  const headers = { "idempotency-key": unique("key") };
  const json = { url: nowhere() };
  const first = await owner.create(json, { headers });
  const again = await owner.create(json, { headers });
  assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
  assert.deepEqual(again.body, { ...first.body, secret: null });
  const { id } = first.body;
  const rotated = await owner.send("POST", `/${id}/rotate`, { headers });
  const repeated = await owner.send("POST", `/${id}/rotate`, { headers });
  assert.deepEqual(repeated.body, { ...rotated.body, secret: null });
  const { secret } = (await owner.send("GET", `/${id}/secret`)).body;
  assert.equal(secret, rotated.body.secret, "rotated once");
  const tested = await owner.send("POST", `/${id}/test`, { headers });
  assert.deepEqual((await owner.send("POST", `/${id}/test`, { headers })).body, tested.body);
  const { rows } = await sql<{ text: string }>`
    select string_agg(t::text, ' ') as text from (
      select k::text from idempotency_keys k union all select a::text from audit_entries a
      union all select e::text from events e) t (text)`.execute(api.app.db.query);
  for (const shown of [first.body.secret, secret])
    assert.ok(!rows[0]!.text.includes(shown.replace("whsec_", "")));
});

test("after a rotation the new secret signs, the previous one also for 24 hours, and older ones never", async () => {
  const owner = await newOwner();
  const path = `/${unique("rotated")}`;
  const { body } = await owner.create({ url: new URL(path, receiver.url).href });
  const { id } = body;
  const rotate = async () => (await owner.send("POST", `/${id}/rotate`)).body;
  /** Returns whether a test event is signed with exactly these secrets, in this order. */
  const assertSigned = async (...secrets: string[]) => {
    const { webhook_id } = (await owner.send("POST", `/${id}/test`)).body;
    const find = () => callbacksAt(path).find((callback) => idOf(callback) === webhook_id);
    await whileDelivering(() => find() !== undefined);
    const { headers, text } = find()!;
    const at = new Date(Number(headers["webhook-timestamp"]) * 1_000);
    const expected = secrets.map((secret) => new Webhook(secret).sign(webhook_id, at, text));
    assert.equal(headers["webhook-signature"], expected.join(" "));
  };
  await assertSigned(body.secret);
  const second = await rotate();
  const { secret, old_secret_until } = second;
  assert.deepEqual(
    { ...(await owner.send("GET", `/${id}`)).body, secret, old_secret_until },
    second,
  );
  await assertSigned(second.secret, body.secret);
  const third = await rotate();
  await assertSigned(third.secret, second.secret);
  const shown = { secret: third.secret, old_secret_until: third.old_secret_until };
  assert.deepEqual((await owner.send("GET", `/${id}/secret`)).body, shown);
  const hours = (Date.parse(third.old_secret_until) - Date.parse(third.updated_at)) / 3_600_000;
  assert.equal(hours, 24);
  api.clock.set(third.old_secret_until);
  await assertSigned(third.secret);
  const { body: last } = await owner.send("GET", `/${id}/secret`);
  assert.deepEqual(last, { secret: third.secret, old_secret_until: null });
  const actions = (await owner.audited(id)).map(([action]) => action);
  assert.deepEqual(actions.slice(-3), ["secret_rotated", "secret_rotated", "created"]);
  api.clock.set(new Date());
});

test("a test event goes only to its endpoint, whatever its types, with the documented body", async () => {
  const owner = await newOwner();
  const [path, others] = [`/${unique("tested")}`, `/${unique("others")}`];
  const id = await owner.take({ url: new URL(path, receiver.url).href, types: ["lead.created"] });
  await owner.take({ url: new URL(others, receiver.url).href });
  const { status, body } = await owner.send("POST", `/${id}/test`);
  assert.equal(status, 202);
  assert.deepEqual(Object.keys(body), ["webhook_id"]);
  await whileDelivering(() => callbacksAt(path).length > 0);
  const [callback] = callbacksAt(path);
  assert.equal(idOf(callback!), body.webhook_id);
  assert.equal(callback!.type, "callback.test");
  assert.equal(callback!.data.endpoint_id, id);
  const { rows } = await sql<{ endpoint_id: number }>`
    select endpoint_id from callback_deliveries where account_id = ${owner.account_id}`.execute(
    api.app.db.query,
  );
  assert.deepEqual(rows, [{ endpoint_id: id }]);

  const { webhooks, components } = (await api.send("GET", "/openapi.json")).body;
  const types = await api.send("GET", "/api/v1/callbacks/event-types", {
    token: voice.account.token,
  });
  const known = Object.entries(eventCatalogue).map(([type, { summary }]) => ({ type, summary }));
  assert.deepEqual(types.body, { data: known });
  const documented = Object.entries(webhooks as Record<string, { post: { summary: string } }>);
  assert.deepEqual(
    documented.map(([type, { post }]) => ({ type, summary: post.summary })),
    known,
  );
  const content = webhooks["callback.test"].post.requestBody.content["application/json"];
  assert.deepEqual(content.schema, { $ref: "#/components/schemas/CallbackTestEvent" });
  const schema = components.schemas.CallbackTestEvent;
  const sent = JSON.parse(callback!.text) as object;
  assert.ok(Value.Check(schema, sent));
  assert.ok(!Value.Check(schema, { ...sent, type: "lead.created" }));
  assert.ok(!Value.Check(schema, { ...sent, data: {} }));
  assert.ok(Value.Check(schema, { ...sent, data: { omitted: ["message"] } }));

  await owner.patch(id, { enabled: false });
  assertProblem(await owner.send("POST", `/${id}/test`), 409, "conflict");
});

test("a disabled endpoint receives nothing, others receive an event about it, and enabling it sends its pending deliveries", async () => {
  const owner = await newOwner();
  const [path, others] = [`/${unique("disabled")}`, `/${unique("others")}`];
  const url = new URL(path, receiver.url).href;
  const id = await owner.take({ url });
  const types = ["callback.endpoint.disabled"];
  await owner.take({ url: new URL(others, receiver.url).href, types });
  receiver.answer = (response, { path: requested }) =>
    void response.writeHead(requested === path ? 503 : 204).end();
  api.clock.set(new Date());
  await owner.send("POST", `/${id}/test`);
  const read = async () => (await owner.send("GET", `/${id}`)).body;
  await whileDelivering(() => callbacksAt(path).length > 0);
  await eventually(async () => (await read()).failing_since !== null);

  const { body: disabled } = await owner.patch(id, { enabled: false });
  const now = api.clock.now().toISOString();
  assert.deepEqual([disabled.enabled, disabled.disabled_reason], [false, "manual"]);
  assert.deepEqual([disabled.disabled_at, disabled.updated_at], [now, now]);
  const { body: again } = await owner.patch(id, { enabled: false, description: "off" });
  assert.deepEqual({ ...disabled, description: "off" }, again);
  await whileDelivering(() => callbacksAt(others).length > 0);
  const expected = { endpoint_id: id, url, reason: "manual" };
  assert.deepEqual(
    callbacksAt(others).map(({ data }) => data),
    [expected],
  );
  // Its delivery would be due by now.
  api.clock.advance(10_000);
  await deliverers.startDue();
  assert.equal(callbacksAt(path).length, 1);

  receiver.answer = (response) => void response.writeHead(204).end();
  const { body: enabled } = await owner.patch(id, { enabled: true });
  const { disabled_reason, disabled_at, failing_since, resume_at } = enabled;
  const cleared = { disabled_reason, disabled_at, failing_since, resume_at };
  assert.deepEqual(new Set(Object.values(cleared)), new Set([null]));
  await whileDelivering(() => callbacksAt(path).length > 1);
  assert.equal(new Set(callbacksAt(path).map(idOf)).size, 1);
  const actions = (await owner.audited(id)).slice(0, 3);
  assert.deepEqual(actions, [
    ["updated", { changed: ["enabled"], enabled: true }],
    ["updated", { changed: ["enabled", "description"], enabled: false }],
    ["updated", { changed: ["enabled"], enabled: false }],
  ]);
  api.clock.set(new Date());
});

test("an endpoint's new URL receives the deliveries that were pending for the old one", async () => {
  const owner = await newOwner();
  const path = `/${unique("moved")}`;
  const id = await owner.take();
  const pending = { account_id: owner.account_id, id };
  await owner.send("POST", `/${id}/test`);
  await relayEvents(api.app, never);
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ failing_since: new Date(0), resume_at: new Date("2999-01-01"), work_at: null })
    .where((eb) => eb.and(pending))
    .execute();
  const url = new URL(path, receiver.url).href;
  const { body } = await owner.patch(id, { url });
  assert.deepEqual([body.url, body.failing_since, body.resume_at], [url, null, null]);
  await whileDelivering(() => callbacksAt(path).length > 0);
});

test("a deleted endpoint disappears immediately, and a job deletes it and its deliveries in batches", async () => {
  const owner = await newOwner();
  const { account_id } = owner;
  const [id, kept] = [await owner.take(), await owner.take()];
  const db = api.app.db.query;
  await sql`
    with made as (
      insert into callback_deliveries (account_id, endpoint_id, event_id, type, seq, due_at, created_at)
      select ${account_id}, case when n <= 2500 then ${id}::bigint else ${kept} end, n, 'lead.created', n, now(), now()
      from generate_series(1, 2600) n
      returning account_id, id
    )
    insert into callback_attempts (account_id, delivery_id, at, duration_ms)
    select account_id, id, now(), 1 from made`.execute(db);
  for (const endpoint of [id, kept])
    await sql`select acquire_lease(${account_id}, ${`callbacks:${endpoint}`}, gen_random_uuid(), 60000)`.execute(
      db,
    );
  const count = async () => {
    const { rows } = await sql<{ counts: string }>`
      select concat_ws(' ',
        (select count(*) from callback_endpoints where account_id = ${account_id}),
        (select count(*) from callback_deliveries where account_id = ${account_id}),
        (select count(*) from callback_attempts where account_id = ${account_id}),
        (select count(*) from leases where account_id = ${account_id})) as counts`.execute(db);
    return rows[0]!.counts;
  };
  const { status } = await owner.send("DELETE", `/${id}`);
  assert.equal(status, 204);
  const left = (await owner.list()).body.data.map((endpoint: { id: number }) => endpoint.id);
  assert.deepEqual(left, [kept]);
  const gone: Answer[] = await Promise.all([
    owner.send("GET", `/${id}`),
    owner.send("GET", `/${id}/secret`),
    owner.send("POST", `/${id}/rotate`),
    owner.send("POST", `/${id}/test`),
    owner.patch(id, { enabled: true }),
    owner.send("DELETE", `/${id}`),
  ]);
  for (const answer of gone) assertProblem(answer, 404, "not-found");
  assert.equal((await owner.audited(id))[0]![0], "deleted");

  const clear = (subject: number, ms_max: number) =>
    clearEndpoint(api.app, { account_id, subject: String(subject) }, never, ms_max);
  await clear(kept, 1_000_000);
  assert.ok((await clear(id, -1))?.again_at);
  assert.equal(await count(), "2 2600 2600 2");
  await eventually(async () => {
    await workJobs(api.app, { "callbacks.clear_endpoint": clearEndpoint }, never);
    return (await count()) === "1 100 100 1";
  });
  await clear(id, 1_000_000);
});

test("a launch creates the endpoint of its callback_url once, keeps a manually disabled one disabled, and enables one that failed", async () => {
  const owner = ownerOf(voice.account);
  const callback_url = nowhere();
  const find = async () => {
    const { data } = (await owner.list("?kind=campaign&limit=200")).body;
    return data.filter(({ url }: { url: string }) => url === callback_url);
  };
  await voice.take({ callback_url });
  const [made] = await find();
  assert.deepEqual(
    [made.kind, made.types, made.description, made.enabled],
    ["campaign", null, "", true],
  );
  assert.match((await owner.send("GET", `/${made.id}/secret`)).body.secret, /^whsec_/);
  for (const field of ["url", "types", "description"]) {
    const value = { url: nowhere(), types: null, description: "mine" }[field];
    const [reason] = assertRefused(await owner.patch(made.id, { [field]: value }), field);
    assert.match(reason!, /callback_url/);
  }
  const { body: disabled } = await owner.patch(made.id, { enabled: false });
  await voice.take({ callback_url });
  assert.deepEqual(await find(), [disabled]);
  const fail = () =>
    api.app.db.query
      .updateTable("callback_endpoints")
      .set({ disabled_reason: "failing", failing_since: api.clock.now() })
      .where("account_id", "=", voice.account.account_id)
      .where("id", "=", made.id)
      .execute();
  await fail();
  await owner.patch(made.id, { enabled: false });
  await voice.take({ callback_url });
  assert.equal((await find())[0].disabled_reason, "manual", "also one that had failed before");
  await fail();
  await voice.take({ callback_url });
  const [again] = await find();
  const { enabled, disabled_reason, disabled_at, failing_since } = again;
  assert.deepEqual(
    [enabled, disabled_reason, disabled_at, failing_since],
    [true, null, null, null],
  );
  const count = (await owner.list("?kind=campaign&limit=200")).body.data.length;
  await voice.take({});
  await voice.refuse({ callback_url: nowhere(), number: "x" }, "number");
  assert.equal((await owner.list("?kind=campaign&limit=200")).body.data.length, count);
});

test("while an account endpoint is disabled, its types are not sent to its URL as a callback_url either", async () => {
  const { account_id } = voice.account;
  const owner = ownerOf(voice.account);
  const callback_url = nowhere();
  const own = await owner.take({ url: callback_url, types: ["call.completed"] });
  const { campaign } = await voice.take({ callback_url });
  const { data } = (await owner.list(`?kind=campaign&url=${callback_url}`)).body;
  const receiversOf = async (type: EventType) => {
    const event = { type, data: { call_id: 1, campaign_id: campaign.id } };
    const [event_id] = await makeEvents(api.app, { account_id }, [event]);
    await relayEvents(api.app, never);
    const made = await api.app.db.query
      .selectFrom("callback_deliveries")
      .innerJoin("callback_endpoints as e", (join) =>
        join
          .onRef("e.account_id", "=", "callback_deliveries.account_id")
          .onRef("e.id", "=", "callback_deliveries.endpoint_id"),
      )
      .select("endpoint_id")
      .where("callback_deliveries.account_id", "=", account_id)
      .where("event_id", "=", event_id!)
      .where("e.url", "=", callback_url)
      .execute();
    return made.map(({ endpoint_id }) => endpoint_id);
  };
  assert.deepEqual(await receiversOf("call.completed"), [own]);
  await owner.patch(own, { enabled: false });
  assert.deepEqual(await receiversOf("call.completed"), []);
  assert.deepEqual(await receiversOf("call.initiated"), [data[0].id]);
  await owner.send("DELETE", `/${own}`);
  assert.deepEqual(await receiversOf("call.completed"), [data[0].id]);
});

test("concurrent launches in two processes create one endpoint for each callback_url", async () => {
  const urls = Array.from({ length: 3 }, nowhere);
  const launch = (callback_url: string, at: TestApi) =>
    at.send("POST", "/api/v1/voice/voiceCampaign", {
      token: voice.account.token,
      json: voice.body({ callback_url }),
    });
  const all = [...urls, ...urls].flatMap((url) => [launch(url, api), launch(url, other)]);
  for (const answer of await Promise.all(all)) assertLaunched(answer);
  const { data } = (await ownerOf(voice.account).list("?kind=campaign&limit=200")).body;
  const made = data
    .map(({ url }: { url: string }) => url)
    .filter((url: string) => urls.includes(url));
  assert.deepEqual(made.toSorted(), urls.toSorted());
});

test("retention deletes a campaign endpoint with the last events of its calls, unless its secret was read or it was changed", async () => {
  const owner = ownerOf(voice.account);
  const { account_id } = voice.account;
  const db = api.app.db.query;
  const launch = async (finished_at: Date | null) => {
    const callback_url = nowhere();
    const { campaign } = await voice.take({ callback_url });
    const of = db.updateTable("voice_campaigns").where("account_id", "=", account_id);
    await of.set({ finished_at }).where("id", "=", campaign.id).execute();
    const { id } = await db
      .selectFrom("callback_endpoints")
      .select("id")
      .where("account_id", "=", account_id)
      .where("url", "=", callback_url)
      .executeTakeFirstOrThrow();
    return id;
  };
  api.clock.set(new Date());
  const day_ms = 86_400_000;
  const now = api.clock.now();
  const expired = await launch(now);
  const live = await launch(null);
  const recent = await launch(new Date(now.getTime() + 2 * day_ms));
  const tested = await launch(now);
  const [read, rotated, disabled] = [await launch(now), await launch(now), await launch(now)];
  await owner.send("GET", `/${read}/secret`);
  await owner.send("POST", `/${rotated}/rotate`);
  await owner.patch(disabled, { enabled: false });
  const own = await owner.take();
  // Events are kept for 30 days.
  api.clock.advance(31 * day_ms);
  await owner.send("POST", `/${tested}/test`);
  await relayEvents(api.app, never);
  await applyRetention(api.app, never);
  const { data } = (await owner.list("?limit=200")).body;
  const left = new Set(data.map(({ id }: { id: number }) => id));
  for (const id of [live, recent, tested, read, rotated, disabled, own]) assert.ok(left.has(id));
  assert.ok(!left.has(expired));
  await eventually(async () => {
    await workJobs(api.app, { "callbacks.clear_endpoint": clearEndpoint }, never);
    const rows = await db
      .selectFrom("callback_endpoints")
      .select("id")
      .where("account_id", "=", account_id)
      .where("deleted_at", "is not", null)
      .execute();
    return rows.length === 0;
  });
  api.clock.set(new Date());
});

test("a campaign endpoint cannot be deleted while a campaign with it is unfinished or being launched", async () => {
  const owner = ownerOf(voice.account);
  const { account_id } = voice.account;
  const { actor } = operatorOf(account_id, "req_test");
  const callback_url = nowhere();
  const { campaign } = await voice.take({ callback_url });
  const db = api.app.db.query;
  const find = async () => {
    const { data } = (await owner.list("?kind=campaign&limit=200")).body;
    return data.find(({ url }: { url: string }) => url === callback_url)?.id as number | undefined;
  };
  const first = (await find())!;
  const conflict = await owner.send("DELETE", `/${first}`);
  assertProblem(conflict, 409, "conflict");
  assert.match(conflict.body.detail, new RegExp(`campaign ${campaign.id} `));
  const finish = (finished_at: Date | null, tx = db) =>
    tx
      .updateTable("voice_campaigns")
      .set({ finished_at })
      .where("account_id", "=", account_id)
      .where("id", "=", campaign.id)
      .execute();
  await finish(new Date());

  // A launch commits while the endpoint is being deleted.
  const deleted = await db.transaction().execute(async (tx) => {
    await ensureCampaignEndpoint(tx, account_id, callback_url, new Date(), api.app.secrets);
    await finish(null, tx);
    const deletion = owner.send("DELETE", `/${first}`);
    await awaitsLock(db);
    return { deletion };
  });
  assertProblem(await deleted.deletion, 409, "conflict");

  // The endpoint is deleted while a launch is waiting.
  await finish(new Date());
  const launched = await db.transaction().execute(async (tx) => {
    await deleteEndpoint(tx, actor, first, new Date());
    const launch_answer = voice.take({ callback_url });
    await awaitsLock(db);
    return { launch_answer };
  });
  await launched.launch_answer;
  const second = await find();
  assert.ok(second !== undefined && second !== first);
  assert.equal((await owner.send("GET", `/${first}`)).status, 404);
});
