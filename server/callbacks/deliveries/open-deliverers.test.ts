import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import {
  lasting_lease,
  makeEndpoint,
  makeEvents,
  relay,
  type NewEvent,
} from "../../../test/support/callback-factory.ts";
import {
  openCallbackReceiver,
  type CallbackReceiver,
  type Received,
} from "../../../test/support/callback-receiver.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { freezeAccount, unfreezeAccount } from "../../accounts/accounts/freeze-account.ts";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import type { EventType } from "../../engine/event-catalogue.ts";
import { openDeliverers, type Deliverers } from "./open-deliverers.ts";
import { secretText } from "../endpoints/sign-callback.ts";

let api: TestApi;
/** The deliverers of two processes: each may deliver to any endpoint. */
const both: Deliverers[] = [];
const receivers: CallbackReceiver[] = [];

before(async () => {
  api = await startApi();
  both.push(openDeliverers(api.app, lasting_lease), openDeliverers(api.app, lasting_lease));
});
after(async () => {
  // Ends requests that a test left open.
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await Promise.all(both.map((deliverers) => deliverers.stop()));
  await api.close();
});

async function newReceiver(): Promise<CallbackReceiver> {
  const receiver = await openCallbackReceiver();
  receivers.push(receiver);
  return receiver;
}

type Endpoint = { account_id: number; endpoint_id: number; secret: Buffer };

async function newEndpoint(
  url: string,
  account_id: number | null = null,
  types: EventType[] | null = null,
): Promise<Endpoint> {
  const owner = account_id ?? (await makeAccount(api.app)).account_id;
  const made = await makeEndpoint(api.app, { account_id: owner }, { url, types });
  return { account_id: owner, endpoint_id: made.id, secret: made.secret };
}

const event: NewEvent = { type: "lead.updated" };

async function record(account_id: number, ...events: NewEvent[]) {
  await makeEvents(api.app, { account_id }, events);
  await relay(api.app);
}

/** Starts due deliverers repeatedly, as the worker's loop does, until the condition holds. */
const whileDelivering = (holds: () => boolean | Promise<boolean>) =>
  eventually(async () => {
    for (const deliverers of both) await deliverers.startDue();
    return holds();
  });

async function deliveriesOf({ account_id, endpoint_id }: Endpoint) {
  return api.app.db.query
    .selectFrom("callback_deliveries")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("endpoint_id", "=", endpoint_id)
    .orderBy("seq")
    .execute();
}

const statesOf = async (endpoint: Endpoint) =>
  (await deliveriesOf(endpoint)).map(({ state, attempts }) => `${state} ${attempts}`).join();

async function endpointOf({ account_id, endpoint_id }: Endpoint) {
  return api.app.db.query
    .selectFrom("callback_endpoints")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("id", "=", endpoint_id)
    .executeTakeFirstOrThrow();
}

/** Advances the manual clock and wakes the deliverers. */
function advance(seconds: number, account_id: number): void {
  api.clock.advance(seconds * 1_000);
  api.app.notifications.send("callback_work", String(account_id));
}

const signedHeaders = ({ headers }: Received) => ({
  "webhook-id": String(headers["webhook-id"]),
  "webhook-timestamp": String(headers["webhook-timestamp"]),
  "webhook-signature": String(headers["webhook-signature"]),
});

test("two independent verifiers accept a callback under each secret of a rotation and reject a modified one", async () => {
  const receiver = await newReceiver();
  const old_secret = randomBytes(32);
  const endpoint = await newEndpoint(receiver.url);
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ old_secret, old_secret_until: new Date(api.clock.now().getTime() + 3_600_000) })
    .where("account_id", "=", endpoint.account_id)
    .execute();
  const data = { id: 7, name: "Zoë ☎", nested: { list: [1, null] } };
  await record(endpoint.account_id, { type: "lead.updated", data });
  await whileDelivering(() => receiver.received.length === 1);

  const [callback] = receiver.received;
  assert.equal(callback!.method, "POST");
  assert.match(String(callback!.headers["content-type"]), /^application\/json/);
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  assert.equal(callback!.headers["user-agent"], `trunkline/${version}`);
  assert.deepEqual(Object.keys(JSON.parse(callback!.text) as object), [
    "type",
    "timestamp",
    "data",
  ]);
  assert.deepEqual(callback!.data, data);
  const headers = signedHeaders(callback!);
  for (const secret of [endpoint.secret, old_secret])
    for (const verifier of [new Webhook(secretText(secret)), new SvixWebhook(secretText(secret))]) {
      verifier.verify(callback!.text, headers);
      assert.throws(() => verifier.verify(callback!.text.replace("7", "8"), headers));
      assert.throws(() => verifier.verify(callback!.text, { ...headers, "webhook-id": "evt_1_2" }));
      const later = String(Number(headers["webhook-timestamp"]) + 1);
      assert.throws(() =>
        verifier.verify(callback!.text, { ...headers, "webhook-timestamp": later }),
      );
    }
  const stranger = new Webhook(secretText(randomBytes(32)));
  assert.throws(() => stranger.verify(callback!.text, headers));
  await whileDelivering(async () => (await statesOf(endpoint)) === "delivered 1");
});

test("an endpoint receives only its types, and no other account's events", async () => {
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(receiver.url, null, ["chat.optout"]);
  const other = await newEndpoint(receiver.url);
  await record(other.account_id, { type: "chat.optout", data: { of: "other" } });
  await record(endpoint.account_id, event, { type: "chat.optout", data: { of: "mine" } });
  await whileDelivering(() => receiver.received.length === 2);
  assert.deepEqual(
    new Set(receiver.received.map(({ data }) => data.of)),
    new Set(["mine", "other"]),
  );
  assert.equal((await deliveriesOf(endpoint)).length, 1);
});

test("attempts a failing delivery eight times, with growing delays, under one webhook-id, and stores each attempt", async () => {
  const receiver = await newReceiver();
  receiver.answer = (response) => void response.writeHead(500).end("out of order\u0000");
  const endpoint = await newEndpoint(receiver.url);
  api.clock.advance(0);
  await record(endpoint.account_id, event);
  const waits = [];
  for (let attempt = 1; attempt <= 8; attempt++) {
    const last = attempt === 8 ? "failed" : "pending";
    await whileDelivering(async () => (await statesOf(endpoint)) === `${last} ${attempt}`);
    const [delivery] = await deliveriesOf(endpoint);
    const wait_seconds = (delivery!.due_at.getTime() - api.clock.now().getTime()) / 1_000;
    if (last === "pending") waits.push(wait_seconds);
    advance(wait_seconds, endpoint.account_id);
  }
  assert.equal(receiver.received.length, 8);
  assert.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 1);
  for (const [i, least] of [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].entries())
    assert.ok(waits[i]! >= least && waits[i]! <= least * 1.2, `attempt ${i + 2}: ${waits[i]} s`);
  const attempts = await api.app.db.query
    .selectFrom("callback_attempts")
    .select(["status", "response", "error"])
    .where("account_id", "=", endpoint.account_id)
    .execute();
  assert.equal(attempts.length, 8);
  assert.deepEqual([attempts[0]!.status, attempts[0]!.response], [500, "out of order"]);
});

test("starts a call's callbacks in order, each after the response to the previous one, and without delaying other calls", async () => {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (response, { data }) =>
    void (data.call_id === 1 ? held.push(response) : response.writeHead(200).end());
  const endpoint = await newEndpoint(receiver.url);
  const of = (call_id: number, type: EventType) => ({ type, data: { call_id, campaign_id: 0 } });
  await record(
    endpoint.account_id,
    of(1, "call.initiated"),
    of(1, "call.ringing"),
    of(1, "call.completed"),
    of(2, "call.initiated"),
    of(2, "call.completed"),
  );
  const typesOf = (call: number) =>
    receiver.received.filter(({ data }) => data.call_id === call).map(({ type }) => type);
  await whileDelivering(() => typesOf(2).length === 2);
  assert.deepEqual(typesOf(2), ["call.initiated", "call.completed"]);
  await whileDelivering(() => held.length === 1);
  // A failed callback is retried later; the next one does not wait for the retry.
  held[0]!.writeHead(503).end();
  await whileDelivering(() => held.length === 2);
  assert.deepEqual(typesOf(1), ["call.initiated", "call.ringing"]);
  held[1]!.writeHead(200).end();
  await whileDelivering(() => held.length === 3);
  held[2]!.writeHead(200).end();
  assert.deepEqual(typesOf(1), ["call.initiated", "call.ringing", "call.completed"]);
});

test("a hanging endpoint delays no other endpoint", async () => {
  const [hanging, healthy] = [await newReceiver(), await newReceiver()];
  hanging.answer = () => {};
  const bad = await newEndpoint(hanging.url);
  const good = await newEndpoint(healthy.url, bad.account_id);
  await record(bad.account_id, ...Array.from({ length: 200 }, () => event));
  await whileDelivering(() => healthy.received.length === 200);
  await whileDelivering(async () =>
    (await statesOf(good)).split(",").every((s) => s === "delivered 1"),
  );
  assert.ok((await statesOf(bad)).split(",").every((state) => state.startsWith("pending")));
});

test("honors Retry-After for the delivery and its endpoint", async () => {
  const receiver = await newReceiver();
  receiver.answer = (response) => void response.writeHead(429, { "retry-after": "120" }).end();
  const endpoint = await newEndpoint(receiver.url);
  await record(endpoint.account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  const [delivery] = await deliveriesOf(endpoint);
  const { resume_at } = await endpointOf(endpoint);
  assert.ok(delivery!.due_at.getTime() - api.clock.now().getTime() >= 119_000);
  assert.ok(resume_at!.getTime() - api.clock.now().getTime() >= 119_000);

  receiver.answer = (response) => void response.writeHead(200).end();
  await record(endpoint.account_id, event);
  const other = await newEndpoint((await newReceiver()).url);
  await record(other.account_id, event);
  await whileDelivering(async () => (await statesOf(other)) === "delivered 1");
  assert.equal(receiver.received.length, 1);
  advance(121, endpoint.account_id);
  await whileDelivering(async () => (await statesOf(endpoint)) === "delivered 2,delivered 1");
});

async function disabledRecords(account_id: number) {
  const db = api.app.db.query;
  const events = await db
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", account_id)
    .where("type", "=", "callback.endpoint.disabled")
    .execute();
  const audits = await db
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account_id)
    .where("action", "=", "callback_endpoint.disabled")
    .execute();
  return { events: events.map(({ data }) => data), audits: audits.map(({ detail }) => detail) };
}

test("a 410 response disables the endpoint and records an event and an audit entry", async () => {
  const receiver = await newReceiver();
  receiver.answer = (response) => void response.writeHead(410).end();
  const endpoint = await newEndpoint(receiver.url, null, ["lead.updated"]);
  await record(endpoint.account_id, event);
  await whileDelivering(async () => !(await endpointOf(endpoint)).enabled);
  await whileDelivering(async () => (await statesOf(endpoint)) === "failed 1");
  const { disabled_reason } = await endpointOf(endpoint);
  assert.equal(disabled_reason, "gone");
  const { account_id, endpoint_id } = endpoint;
  assert.deepEqual(await disabledRecords(account_id), {
    events: [{ endpoint_id, url: receiver.url, reason: "gone" }],
    audits: [{ reason: "gone" }],
  });
  await record(account_id, event);
  assert.equal(await statesOf(endpoint), "failed 1");
});

test("disables and reports an endpoint that fails for five days; a success restarts the period", async () => {
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(receiver.url);
  const fail = (response: ServerResponse) => void response.writeHead(500).end();
  const day = 86_400;
  const tryOnce = async (answer: typeof receiver.answer) => {
    receiver.answer = answer;
    const before_count = receiver.received.length;
    await record(endpoint.account_id, event);
    await whileDelivering(async () => {
      const made = await deliveriesOf(endpoint);
      return receiver.received.length > before_count && made.at(-1)!.attempts === 1;
    });
    // Not tried again, but pending, as there always is one while events keep coming.
    await api.app.db.query
      .updateTable("callback_deliveries")
      .set({ due_at: new Date(api.clock.now().getTime() + 30 * day * 1_000) })
      .where("account_id", "=", endpoint.account_id)
      .where("state", "=", "pending")
      .execute();
  };
  await tryOnce(fail);
  advance(4 * day, endpoint.account_id);
  await tryOnce((response) => void response.writeHead(200).end());
  await tryOnce(fail);
  advance(4 * day, endpoint.account_id);
  await tryOnce(fail);
  assert.equal((await endpointOf(endpoint)).enabled, true);
  advance(day, endpoint.account_id);
  await tryOnce(fail);
  await whileDelivering(async () => !(await endpointOf(endpoint)).enabled);
  assert.equal((await endpointOf(endpoint)).disabled_reason, "failing");
  assert.equal((await disabledRecords(endpoint.account_id)).events.length, 1);
});

test("a failure long after the last delivery was given up starts the five days again", async () => {
  const receiver = await newReceiver();
  receiver.answer = (response) => void response.writeHead(500).end();
  const endpoint = await newEndpoint(receiver.url);
  const { account_id } = endpoint;
  const setAttempts = (attempts: number) =>
    api.app.db.query
      .updateTable("callback_deliveries")
      .set({ attempts })
      .where("account_id", "=", account_id)
      .where("state", "=", "pending")
      .execute();
  await record(account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  assert.notEqual((await endpointOf(endpoint)).failing_since, null);
  await setAttempts(7);
  advance(3_600, account_id);
  await whileDelivering(async () => (await statesOf(endpoint)) === "failed 8");
  assert.equal((await endpointOf(endpoint)).failing_since, null);

  advance(10 * 86_400, account_id);
  const now = api.clock.now();
  await record(account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "failed 8,pending 1");
  const { enabled, failing_since, resume_at } = await endpointOf(endpoint);
  assert.deepEqual([enabled, failing_since], [true, now]);
  assert.ok(resume_at! < now, "no pause for the time without deliveries");
  receiver.answer = (response) => void response.writeHead(200).end();
  advance(7, account_id);
  await whileDelivering(async () => (await statesOf(endpoint)) === "failed 8,delivered 2");
});

test("disables an endpoint that fails for five days also when the last failure ends its last delivery", async () => {
  const receiver = await newReceiver();
  receiver.answer = (response) => void response.writeHead(500).end();
  const endpoint = await newEndpoint(receiver.url);
  const { account_id } = endpoint;
  await record(account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  await api.app.db.query
    .updateTable("callback_deliveries")
    .set({ attempts: 7, due_at: new Date(api.clock.now().getTime() + 5 * 86_400_000) })
    .where("account_id", "=", account_id)
    .execute();
  advance(5 * 86_400, account_id);
  await whileDelivering(async () => !(await endpointOf(endpoint)).enabled);
  assert.equal(await statesOf(endpoint), "failed 8");
  assert.equal((await endpointOf(endpoint)).disabled_reason, "failing");
});

test("a success that is not recorded yet also restarts the five days and ends the pauses", async () => {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (response) => void held.push(response);
  const endpoint = await newEndpoint(receiver.url);
  const six_days_ms = 6 * 86_400_000;
  const { account_id, endpoint_id } = endpoint;
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ failing_since: new Date(api.clock.now().getTime() - six_days_ms) })
    .where("account_id", "=", account_id)
    .execute();
  await record(account_id, event, event);
  await whileDelivering(() => held.length === 2);
  // Delays the recording of the success until the failure has arrived.
  const holder = await api.app.db.pool.connect();
  await holder.query("begin");
  const lock = "select from callback_endpoints where account_id = $1 and id = $2 for update";
  await holder.query(lock, [account_id, endpoint_id]);
  held[0]!.writeHead(200).end();
  await awaitsLock(api.app.db.query);
  await once(held[1]!.writeHead(500).end(), "close");
  await holder.query("commit");
  holder.release();
  await whileDelivering(async () => {
    const states = (await statesOf(endpoint)).split(",");
    return states.toSorted().join() === "delivered 1,pending 1";
  });
  const { enabled, failing_since, resume_at } = await endpointOf(endpoint);
  assert.deepEqual([enabled, resume_at], [true, null]);
  assert.ok(failing_since!.getTime() > api.clock.now().getTime() - 60_000);
});

test("sends a click-to-call's callbacks by its callback_method; a GET has the type and scalar fields in a signed query", async () => {
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(`${receiver.url}?key=a%20b`);
  const { account_id, secret } = endpoint;
  const campaigns = await api.app.db.query
    .insertInto("call_campaigns")
    .values(
      [1, 2].map((by) => ({
        account_id,
        kind: "click_to_call",
        created_by: by,
        created_at: api.clock.now(),
      })),
    )
    .returning("id")
    .execute();
  const methods = ["GET", "PUT"] as const;
  for (const [i, { id }] of campaigns.entries())
    await api.app.db.query
      .insertInto("click_to_calls")
      .values({
        account_id,
        campaign_id: id,
        from_number: "101",
        to_number: "9000000001",
        to_phone: "919000000001",
        policy_applied: "hangup",
        callback_method: methods[i]!,
      })
      .execute();
  const data = (i: number) => ({
    call_id: i,
    campaign_id: campaigns[i]!.id,
    reference: "a&b",
    type: "click_to_call",
    x: {},
  });
  await record(
    account_id,
    { type: "call.completed", data: data(0) },
    { type: "call.completed", data: data(1) },
    event,
  );
  await whileDelivering(() => receiver.received.length === 3);
  const byMethod = (method: string) => receiver.received.find((each) => each.method === method)!;
  assert.deepEqual(byMethod("PUT").data, data(1));
  assert.equal(byMethod("POST").type, "lead.updated");
  const { path, text, headers } = byMethod("GET");
  assert.equal(text, "");
  const url = new URL(path, receiver.url);
  assert.equal(url.searchParams.get("key"), "a b");
  assert.equal(url.searchParams.get("type"), "call.completed");
  assert.equal(url.searchParams.get("reference"), "a&b");
  assert.equal(url.searchParams.get("data_type"), "click_to_call");
  assert.equal(url.searchParams.get("call_id"), "0");
  assert.equal(url.searchParams.has("x"), false);
  const query = path.slice(path.indexOf("&") + 1);
  const verifier = new Webhook(secretText(secret));
  const signed = verifier.sign(
    String(headers["webhook-id"]),
    new Date(Number(headers["webhook-timestamp"]) * 1_000),
    query,
  );
  assert.equal(headers["webhook-signature"], signed);
});

test("a redirect fails with its reason and is not followed", async () => {
  const [receiver, target] = [await newReceiver(), await newReceiver()];
  receiver.answer = (response) => void response.writeHead(302, { location: target.url }).end();
  const endpoint = await newEndpoint(receiver.url);
  await record(endpoint.account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  const [attempt] = await api.app.db.query
    .selectFrom("callback_attempts")
    .selectAll()
    .where("account_id", "=", endpoint.account_id)
    .execute();
  assert.equal(attempt!.status, 302);
  assert.equal(attempt!.error, "redirects are not followed");
  assert.equal(target.received.length, 0);
});

test("never connects to a forbidden address, and stores the reason in the attempt", async () => {
  const endpoint = await newEndpoint("http://10.0.0.7/hook");
  await record(endpoint.account_id, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  const [attempt] = await api.app.db.query
    .selectFrom("callback_attempts")
    .selectAll()
    .where("account_id", "=", endpoint.account_id)
    .execute();
  assert.equal(attempt!.status, null);
  assert.match(attempt!.error!, /10\.0\.0\.7.*private/);
});

test("a stop aborts hanging requests within seconds, and the next process repeats unrecorded attempts", async () => {
  const receiver = await newReceiver();
  receiver.answer = () => {};
  const endpoint = await newEndpoint(receiver.url);
  await record(endpoint.account_id, event);
  const stopping = openDeliverers(api.app, lasting_lease);
  await eventually(async () => {
    await stopping.startDue();
    return receiver.received.length === 1;
  });
  await stopping.stop();
  assert.equal(await statesOf(endpoint), "pending 0");
  receiver.answer = (response) => void response.writeHead(200).end();
  await whileDelivering(async () => (await statesOf(endpoint)) === "delivered 1");
  const [first, second] = receiver.received.map(({ headers }) => headers["webhook-id"]);
  assert.equal(first, second);
});

test("omits and names the largest fields of data beyond 20,000 bytes", async () => {
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(receiver.url);
  const data = { id: 1, notes: "é".repeat(15_000), customFields: { a: "x".repeat(9_000) } };
  await record(endpoint.account_id, { type: "lead.created", data });
  await whileDelivering(() => receiver.received.length === 1);
  assert.deepEqual(receiver.received[0]!.data, {
    id: 1,
    customFields: data.customFields,
    omitted: ["notes"],
  });
});

/** Creates this many hanging endpoints of one account, each with a due delivery. */
async function makeHanging(count: number): Promise<{ account_id: number; url: string }> {
  const receiver = await newReceiver();
  receiver.answer = () => {};
  const { url } = receiver;
  const { account_id } = await makeAccount(api.app);
  for (let i = 0; i < count; i++) await newEndpoint(url, account_id, ["lead.updated"]);
  await record(account_id, event);
  return { account_id, url };
}

/** Stops the other processes' deliverers, to which a share belongs, and opens those of one process. */
async function openOnly(): Promise<Deliverers> {
  await Promise.all(both.splice(0).map((deliverers) => deliverers.stop()));
  both.push(openDeliverers(api.app, lasting_lease));
  return both[0]!;
}

test("an account whose endpoints all hang does not occupy every place and connection, and hides no other account", async () => {
  // More than one page, all due before the other account's.
  const { account_id } = await makeHanging(150);
  api.clock.advance(1_000);
  const good = await newReceiver();
  const endpoint = await newEndpoint(good.url);
  await record(endpoint.account_id, event);
  const deliverers = await openOnly();
  await deliverers.startDue();
  await eventually(() => good.received.length === 1);
  await deliverers.startDue();
  const leases = await api.app.db.query
    .selectFrom("leases")
    .select("name")
    .where("account_id", "=", account_id)
    .where("holder", "is not", null)
    .execute();
  assert.ok(leases.length <= 64, `${leases.length} endpoints`);
});

test("working endpoints find a place, however many of the account's endpoints fail", async () => {
  const { account_id } = await makeHanging(70);
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ failing_since: api.clock.now() })
    .where("account_id", "=", account_id)
    .execute();
  const deliverers = await openOnly();
  await deliverers.startDue();
  const good = await newReceiver();
  await newEndpoint(good.url, account_id, ["lead.created"]);
  await record(account_id, { type: "lead.created" });
  await deliverers.startDue();
  await eventually(() => good.received.length === 1);
});

test("the lease of an idle endpoint is released, however busy the account's other endpoints are", async () => {
  const receiver = await newReceiver();
  const { account_id, endpoint_id } = await newEndpoint(receiver.url);
  await record(account_id, event);
  await whileDelivering(() => receiver.received.length === 1);
  await eventually(async () => {
    // As for each event of another endpoint.
    api.app.notifications.send("callback_work", String(account_id));
    const { rows } = await api.app.db.pool.query(
      "select from leases where account_id = $1 and name = $2 and holder is null",
      [account_id, `callbacks:${endpoint_id}`],
    );
    return rows.length === 1;
  });
});

/** Creates deliveries that were tried five times and are due hours later. */
async function makeRetried({ account_id, endpoint_id }: Endpoint, count: number): Promise<void> {
  await api.app.db.pool.query(
    `with made as (
       insert into events (account_id, type, occurred_at, data, seq)
       select $1, 'lead.updated', $3, '{}', n from generate_series(1, $4::int) n returning id, seq)
     insert into callback_deliveries
       (account_id, endpoint_id, event_id, type, seq, attempts, due_at, created_at)
     select $1, $2, id, 'lead.updated', seq, 5, $3::timestamptz + interval '4 h' + seq * interval '1 s', $3
     from made`,
    [account_id, endpoint_id, api.clock.now(), count],
  );
}

async function patchEndpoint({ endpoint_id }: Endpoint, token: string, json: object) {
  const path = `/api/v1/callbacks/endpoints/${endpoint_id}`;
  assert.equal((await api.send("PATCH", path, { token, json })).status, 200);
}

test("enabling an endpoint retries all its pending deliveries at once, however many there are", async () => {
  const { account_id, token } = await makeAccount(api.app);
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(receiver.url, account_id, ["lead.updated"]);
  await makeRetried(endpoint, 2_500);
  await patchEndpoint(endpoint, token, { enabled: false });
  await patchEndpoint(endpoint, token, { enabled: true });
  await whileDelivering(() => receiver.received.length === 2_500);
  await whileDelivering(async () =>
    (await statesOf(endpoint)).split(",").every((state) => state === "delivered 6"),
  );
  assert.equal(receiver.received.length, 2_500);
});

test("changing an endpoint's URL retries its pending deliveries at once, and those that fail again wait for their next retry", async () => {
  const { account_id, token } = await makeAccount(api.app);
  const endpoint = await newEndpoint((await newReceiver()).url, account_id, ["lead.updated"]);
  await makeRetried(endpoint, 3);
  const moved = await newReceiver();
  moved.answer = (response) => void response.writeHead(500).end();
  await patchEndpoint(endpoint, token, { url: moved.url });
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 6,pending 6,pending 6");
  assert.equal(moved.received.length, 3);
  const now = api.clock.now().getTime();
  for (const { due_at } of await deliveriesOf(endpoint))
    assert.ok(due_at.getTime() - now > 30_000_000, due_at.toISOString());
});

const change = (effect: typeof freezeAccount | typeof unfreezeAccount, account_id: number) =>
  api.app.db.query.transaction().execute(async (tx) => {
    const { actor } = operatorOf(account_id, "req_test");
    await effect(tx, actor, api.clock.now());
  });

test("a deliverer of a frozen account finishes the requests in flight, releases its lease and keeps the rest pending", async () => {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (response) => void held.push(response);
  const endpoint = await newEndpoint(receiver.url);
  const { account_id, endpoint_id } = endpoint;
  await record(account_id, ...Array.from({ length: 100 }, () => event));
  await whileDelivering(() => held.length > 0);
  await change(freezeAccount, account_id);
  receiver.answer = (response) => void response.writeHead(200).end();
  for (const response of held) response.writeHead(200).end();
  await eventually(async () => {
    const { rows } = await api.app.db.pool.query(
      "select from leases where account_id = $1 and name = $2 and holder is null",
      [account_id, `callbacks:${endpoint_id}`],
    );
    return rows.length === 1;
  });
  const count = receiver.received.length;
  assert.ok(count < 100, `${count} of 100 sent`);
  const states = (await statesOf(endpoint)).split(",");
  assert.equal(states.filter((state) => state === "delivered 1").length, count);
  assert.equal(states.filter((state) => state === "pending 0").length, 100 - count);

  await change(unfreezeAccount, account_id);
  await whileDelivering(async () =>
    (await statesOf(endpoint)).split(",").every((state) => state === "delivered 1"),
  );
  assert.equal(receiver.received.length, 100);
});

test("a response of the old URL after the URL was changed does not disable the endpoint", async () => {
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (response) => void held.push(response);
  const endpoint = await newEndpoint(receiver.url);
  await record(endpoint.account_id, event);
  await whileDelivering(() => held.length === 1);
  const moved = await newReceiver();
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ url: moved.url })
    .where("account_id", "=", endpoint.account_id)
    .execute();
  held[0]!.writeHead(410).end();
  await whileDelivering(async () => (await statesOf(endpoint)) !== "pending 0");
  assert.equal((await endpointOf(endpoint)).enabled, true);
});

test("a failure at the old URL after the URL was changed does not count as a failure of the endpoint", async () => {
  const { account_id, token } = await makeAccount(api.app);
  const receiver = await newReceiver();
  const held: ServerResponse[] = [];
  receiver.answer = (response) => void held.push(response);
  const endpoint = await newEndpoint(receiver.url, account_id);
  await record(account_id, event);
  await whileDelivering(() => held.length === 1);
  const moved = await newReceiver();
  moved.answer = (response) => void held.push(response);
  await patchEndpoint(endpoint, token, { url: moved.url });
  held[0]!.writeHead(500).end();
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1");
  assert.equal((await endpointOf(endpoint)).failing_since, null);
  await whileDelivering(() => held.length === 2);
  held[1]!.writeHead(204).end();
  await whileDelivering(async () => (await statesOf(endpoint)) === "delivered 2");
});

test("an event that cannot be sent fails, and other events are delivered", async () => {
  const receiver = await newReceiver();
  const endpoint = await newEndpoint(receiver.url);
  const fields = Array.from({ length: 300 }, (_, i) => [`${"field".repeat(20)}${i}`, 1]);
  const data = Object.fromEntries(fields) as Record<string, number>;
  await record(endpoint.account_id, { type: "lead.updated", data }, event);
  await whileDelivering(async () => (await statesOf(endpoint)) === "pending 1,delivered 1");
  assert.equal(receiver.received.length, 1);
});
