import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { after, afterEach, before, test } from "node:test";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { readEvents, type EventReader } from "../../test/support/event-reader.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { manualTimers, type ManualTimers } from "../lib/timers.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Permission } from "../accounts/permissions.ts";
import { buildHttpServer } from "../api/http-server.ts";
import type { App } from "../engine/app.ts";
import type { EventType } from "../engine/record-event.ts";
import { relayEvents } from "../engine/relay-events.ts";
import { openMetrics, type Metrics } from "../lib/metrics.ts";
import { typesOf } from "./event-audience.ts";
import { streams_of_account_max } from "./event-hub.ts";
import { openLiveEvents } from "./open-live-events.ts";
import { behind_max } from "./read-events-page.ts";
import { heartbeat_ms, stalled_max_ms } from "./maintain-streams.ts";

/** A server with a manual clock. */
type Streaming = {
  readonly server: FastifyInstance;
  readonly url: string;
  readonly time: ManualTimers;
  readonly metrics: Metrics;
};

let api: TestApi;
let here: Streaming;
const readers: EventReader[] = [];
const going = new AbortController().signal;

before(async () => {
  api = await startApi();
  here = await startStreaming();
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await eventually(async () => (await streamsAt(here)) === 0);
});
after(async () => {
  await here.server.close();
  await api.close();
});

async function startStreaming(app: App = api.app): Promise<Streaming> {
  const time = manualTimers();
  const metrics = openMetrics();
  const live = openLiveEvents(app, metrics, time.timers);
  const server = await buildHttpServer({ ...api.app, metrics, live });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.server.address() as AddressInfo;
  return { server, time, metrics, url: `http://127.0.0.1:${port}` };
}

const valueOf = async (metric: Metrics["eventStreams"] | Metrics["eventReads"]) =>
  (await metric.get()).values[0]?.value ?? 0;
const streamsAt = ({ metrics }: Streaming) => valueOf(metrics.eventStreams);

type ReadOptions = Partial<Parameters<typeof readEvents>[1]> & { readonly at?: Streaming };

/** Opens a stream that begins now, unless the options say otherwise. */
async function openReader(account: TestAccount, { at = here, ...options }: ReadOptions = {}) {
  const reader = await readEvents(at.url, { token: account.token, ...options });
  readers.push(reader);
  assert.equal(reader.response.statusCode, 200);
  return reader;
}

const drain = async () => {
  while ((await relayEvents(api.app, going)) > 0);
};

/** Inserts events of these types, in this order. */
async function insert(account: TestAccount, types: readonly EventType[], data: object = {}) {
  await api.app.db.pool.query(
    `insert into events (account_id, type, occurred_at, data)
     select $1, type, now(), $3 from unnest($2::text[]) with ordinality t(type, n) order by n`,
    [account.account_id, types, JSON.stringify(data)],
  );
}

async function record(account: TestAccount, ...types: EventType[]) {
  await insert(account, types);
  await drain();
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
const idsOf = ({ events }: EventReader) => events.map(({ id }) => id);
const typesReceived = ({ events }: EventReader) => events.map(({ event }) => event);

/** Waits for a heartbeat, which comes after all available events. */
async function nextHeartbeat(reader: EventReader, { time } = here) {
  const so_far = reader.comments();
  time.advance(heartbeat_ms);
  await eventually(() => reader.comments() > so_far);
}

/** A caller as the token directory returns it. */
function callerOf(account_id: number): Caller {
  return {
    account: { id: account_id, features: new Set() } as unknown as Caller["account"],
    user_id: 1,
    token_id: 1,
    token_kind: "account",
    is_owner: true,
    has_role: true,
    permissions: new Set<Permission>(["credits.read"]),
  };
}

test("a stream delivers every event in the account's order while transactions commit out of order", async () => {
  const account = await makeAccount(api.app);
  const reader = await openReader(account);
  const writing = new AbortController();
  const write = async (writer: number) => {
    for (let i = 0; i < 10; i++) {
      await api.app.db.query.transaction().execute(async (tx) => {
        const event = { account_id: account.account_id, type: "lead.created" as const };
        for (const n of [0, 1])
          await tx
            .insertInto("events")
            .values({ ...event, occurred_at: new Date(), data: JSON.stringify({ writer, i, n }) })
            .execute();
      });
    }
  };
  const relay = async () => {
    while (!writing.signal.aborted) await relayEvents(api.app, going);
  };
  // The events with the lowest ids commit last.
  const held = await api.app.db.pool.connect();
  await held.query("begin");
  await held.query(
    `insert into events (account_id, type, occurred_at, data)
     select $1, 'lead.created', now(), '{"writer": "held"}' from generate_series(1, 5)`,
    [account.account_id],
  );
  const relays = [relay(), relay()];
  await Promise.all(numbers(1, 6).map(write));
  await eventually(() => reader.events.length === 120);
  await held.query("commit");
  held.release();
  await eventually(() => reader.events.length === 125);
  writing.abort();
  await Promise.all(relays);
  await nextHeartbeat(reader);
  assert.deepEqual(idsOf(reader), numbers(1, 125));
  const data = reader.dataOf().map((one) => JSON.stringify(one));
  assert.equal(new Set(data.slice(0, 120)).size, 120);
  assert.deepEqual(new Set(data.slice(120)), new Set(['{"writer":"held"}']));
});

test("an event has its id, its type, and the body of a callback on one line", async () => {
  const account = await makeAccount(api.app);
  const reader = await openReader(account);
  await insert(account, ["call.answered"], { text: "two\nlines, and\r\u2028more 😀" });
  await drain();
  await eventually(() => reader.events.length === 1);
  const [{ id, event, data }] = reader.events as [EventReader["events"][0]];
  assert.deepEqual([id, event, data.type], [1, "call.answered", "call.answered"]);
  assert.deepEqual(Object.keys(data), ["type", "timestamp", "data"]);
  assert.equal(new Date(data.timestamp).toISOString(), data.timestamp);
  assert.equal(data.data.text, "two\nlines, and\r\u2028more 😀");
  const { headers } = reader.response;
  assert.equal(headers["content-type"], "text/event-stream");
  assert.equal(headers["cache-control"], "no-store");
  assert.equal(headers["x-accel-buffering"], "no");
  assert.ok(headers["x-request-id"]);
  assert.equal(reader.retryMs(), 3_000);
});

test("a client that reconnects receives the events that it missed exactly once", async () => {
  const account = await makeAccount(api.app);
  const type = "credit.low";
  await record(account, type, type);
  const first = await openReader(account);
  // A stream has a resume position before its first event.
  await eventually(() => first.lastId() === 2);
  await record(account, type, "lead.created", type);
  await eventually(() => first.events.length === 3);
  first.close();
  await record(account, ...numbers(1, 450).map(() => type as EventType));
  const last = String(first.lastId());
  const again = await openReader(account, { headers: { "last-event-id": last } });
  const browser = await openReader(account, { query: `?last_event_id=${last}` });
  // A browser that reconnects sends its original URL and the last id received.
  const both = await openReader(account, {
    query: `?last_event_id=0`,
    headers: { "last-event-id": last },
  });
  const all = await openReader(account, { query: `?last_event_id=0` });
  await record(account, "lead.created");
  for (const reader of [again, browser, both]) {
    await eventually(() => reader.lastId() === 456);
    assert.deepEqual(idsOf(reader), numbers(6, 456));
  }
  await eventually(() => all.lastId() === 456);
  assert.deepEqual(idsOf(all), numbers(1, 456));
});

test("a heartbeat advances the resume position past events that are not for the reader", async () => {
  const account = await makeAccount(api.app);
  const reader = await openReader(account, { query: "?types=lead.*" });
  await record(account, "credit.low", "credit.low");
  await nextHeartbeat(reader);
  assert.deepEqual([reader.events, reader.lastId()], [[], 2]);
});

const of_chat = [
  "chat.campaign.started",
  "chat.message.read",
  "chat.template.updated",
  "chat.reply.received",
  "chat.answer.sent",
  "chat.optout",
  "chat.optin",
] as const;
const one_of_each = [
  "lead.created",
  ...of_chat,
  "voice.campaign.started",
  "call.answered",
  "credit.low",
  "callback.endpoint.disabled",
  "callback.test",
] as const;

test("each permission shows its own kind of events, within the account's features, and no others", async () => {
  const account = await makeAccount(api.app);
  const crm_only = await makeAccount(api.app, { features: ["crm"] });
  const kinds: [Permission, string[]][] = [
    ["crm.read", ["lead.created"]],
    ["chat.read", [...of_chat]],
    ["chat.campaigns.manage", ["chat.campaign.started", "chat.message.read"]],
    ["chat.campaigns.create", ["chat.template.updated"]],
    ["chat.manage", ["chat.template.updated"]],
    ["voice.campaigns.read", ["voice.campaign.started"]],
    ["voice.campaigns.manage", ["voice.campaign.started"]],
    ["calls.read", ["call.answered"]],
    ["credits.read", ["credit.low"]],
    ["callbacks.read", ["callback.endpoint.disabled", "callback.test"]],
    ["callbacks.manage", ["callback.endpoint.disabled", "callback.test"]],
  ];
  const opened: [EventReader, readonly string[]][] = [
    [await openReader(account), one_of_each],
    [
      await openReader(crm_only),
      ["lead.created", "credit.low", "callback.endpoint.disabled", "callback.test"],
    ],
  ];
  for (const [permission, expected] of kinds) {
    const token = await makeAgentToken(api.app, account, [permission, "users.read"]);
    opened.push([await openReader(account, { token }), expected]);
  }
  await insert(crm_only, one_of_each);
  await record(account, ...one_of_each);
  for (const [reader, expected] of opened) {
    await nextHeartbeat(reader);
    assert.deepEqual(typesReceived(reader), expected);
  }
  const refused = await api.send("GET", "/api/v1/events?types=call.*", { token: crm_only.token });
  assert.deepEqual([refused.status, refused.body.type], [403, "forbidden"]);
});

test("a stream contains only the requested types", async () => {
  const account = await makeAccount(api.app);
  const queries = {
    "?types=call.*": ["call.answered"],
    "?types=callback.test,chat.*": [...of_chat, "callback.test"],
    "?types=call.answered%2C%20lead.created": ["lead.created", "call.answered"],
    "?types=chat.campaign.completed": [],
  };
  const opened: [EventReader, readonly string[]][] = [];
  for (const [query, expected] of Object.entries(queries))
    opened.push([await openReader(account, { query }), expected]);
  await record(account, ...one_of_each);
  for (const [reader, expected] of opened) {
    await nextHeartbeat(reader);
    assert.deepEqual(typesReceived(reader), expected);
  }
});

test("reports every invalid type and event id at once", async () => {
  const { token } = await makeAccount(api.app);
  const fieldsOf = async (query: string, headers = {}) => {
    const { status, body } = await api.send("GET", `/api/v1/events${query}`, { token, headers });
    assert.equal(status, 422, query);
    return body.errors.map(({ field, reason }: { field: string; reason: string }) => [
      field,
      /"([^"]*)"/.exec(reason)?.[1],
    ]);
  };
  assert.deepEqual(await fieldsOf("?types=call.*,calls.*,lead.creatd,call.*x,*"), [
    ["types", "calls.*"],
    ["types", "lead.creatd"],
    ["types", "call.*x"],
    ["types", "*"],
  ]);
  assert.deepEqual(await fieldsOf("?types="), [["types", ""]]);
  assert.deepEqual(await fieldsOf("?types=x", { "last-event-id": "12a" }), [
    ["types", "x"],
    ["Last-Event-ID", undefined],
  ]);
  assert.deepEqual(await fieldsOf("?last_event_id=-1"), [["last_event_id", undefined]]);
});

test("a stream never contains another account's events", async () => {
  const [mine, theirs] = [await makeAccount(api.app), await makeAccount(api.app)];
  const [reader, other] = [await openReader(mine), await openReader(theirs)];
  await insert(theirs, ["lead.created", "call.answered"], { whose: "theirs" });
  await insert(mine, ["lead.created"], { whose: "mine" });
  await drain();
  for (const one of [reader, other]) await nextHeartbeat(one);
  assert.deepEqual(reader.dataOf(), [{ whose: "mine" }]);
  assert.deepEqual(other.dataOf(), [{ whose: "theirs" }, { whose: "theirs" }]);
});

test("a lost notification delays events by at most a second, until the poll", async () => {
  const account = await makeAccount(api.app);
  const reader = await openReader(account);
  await insert(account, ["lead.created"]);
  await api.app.db.pool.query("select relay_events($1, 1000, now())", [account.account_id]);
  await eventually(() => {
    here.time.advance(1_000);
    return reader.events.length === 1;
  });
  assert.deepEqual(idsOf(reader), [1]);
});

test("a failure of each poll is logged once, as is its end, and the stream goes on", async (t) => {
  const lines: { readonly level: number; readonly msg: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const polls = () => lines.filter(({ msg }) => msg.includes(" poll"));
  const there = await startStreaming({ ...api.app, log });
  t.after(() => there.server.close());
  const account = await makeAccount(api.app);
  const reader = await openReader(account, { at: there });
  const { pool } = api.app.db;
  await pool.query("alter table event_heads rename to event_heads_away");
  const asked = t.mock.method(pool, "query");
  await eventually(() => {
    there.time.advance(1_000);
    return asked.mock.callCount() >= 3;
  });
  await pool.query("alter table event_heads_away rename to event_heads");
  await record(account, "lead.created");
  await eventually(() => {
    there.time.advance(1_000);
    return reader.events.length === 1 && polls().length > 1;
  });
  reader.close();
  await eventually(async () => (await streamsAt(there)) === 0);
  assert.deepEqual(
    polls().map(({ level, msg }) => [level, msg]),
    [
      [50, "could not poll events for streams; retrying"],
      [30, "events for streams are polled again"],
    ],
  );
});

test("signing out others, and a new password by a link, ends their streams immediately and no other", async () => {
  const account = await makeAccount(api.app);
  const headers = { "sec-fetch-site": "same-origin" };
  const user = `/api/v1/users/${account.owner_id}/sign-in-link`;
  const signIn = async (more: object = {}) => {
    const { body } = await api.send("POST", user, { token: account.token });
    const json = { link: body.path.split("#")[1], ...more };
    const answer = await api.send("POST", "/api/v1/session/link", { headers, json });
    return { ...headers, cookie: answer.headers.get("set-cookie")!.split(";")[0]! };
  };
  const open = async (session: Readonly<Record<string, string>>) => {
    const reader = await readEvents(here.url, { headers: session });
    readers.push(reader);
    return reader;
  };
  const own = await signIn();
  const [first, second] = [await open(own), await open(await signIn())];
  const path = "/api/v1/sessions?keep_this=true";
  assert.equal((await api.send("DELETE", path, { headers: own })).status, 200);
  await eventually(() => second.hasEnded());
  const third = await open(await signIn());
  const { body } = await api.send("GET", "/api/v1/sessions", { headers: own });
  const other = body.data.find((one: { is_current: boolean }) => !one.is_current);
  await api.send("DELETE", `/api/v1/sessions/${other.id}`, { headers: own });
  await eventually(() => third.hasEnded());
  assert.equal(first.hasEnded(), false);
  await signIn({ password: "correct horse battery" });
  await eventually(() => first.hasEnded());
});

test("a revoked token's stream ends immediately, an expired token's at the next heartbeat, and others continue", async () => {
  const account = await makeAccount(api.app);
  const expires_at = new Date(Date.now() + 3_600_000);
  const [revoked, expiring] = [
    await makeToken(api.app, account),
    await makeToken(api.app, account, { expires_at }),
  ];
  const first = await openReader(account, { token: revoked });
  const second = await openReader(account, { token: expiring });
  const third = await openReader(account);
  const path = `/api/v1/tokens/${revoked.split("_")[2]}/revoke`;
  assert.equal((await api.send("POST", path, { token: account.token })).status, 200);
  const unauthorized = [{ id: 0, event: "end", data: { reason: "unauthorized" } }];
  await eventually(() => first.hasEnded());
  assert.deepEqual(first.events, unauthorized);
  api.clock.set(expires_at);
  await nextHeartbeat(third);
  await eventually(() => second.hasEnded());
  api.clock.set(new Date());
  assert.deepEqual(second.events, unauthorized);
  await record(account, "lead.created");
  await eventually(() => third.events.length === 1);
});

test("a changed role changes its users' streams, and ends those without any visible type", async () => {
  const account = await makeAccount(api.app);
  const { token } = account;
  const token_of_user = await makeAgentToken(api.app, account, ["crm.read", "calls.read"]);
  const { body: roles } = await api.send("GET", "/api/v1/roles", { token });
  const set = async (permissions: readonly Permission[]) => {
    const json = { name: unique("role"), permissions };
    const path = `/api/v1/roles/${roles.data[0].id}`;
    assert.equal((await api.send("PATCH", path, { token, json })).status, 200);
  };
  const reader = await openReader(account, { token: token_of_user });
  await record(account, "lead.created", "call.answered", "credit.low");
  await nextHeartbeat(reader);
  await set(["calls.read", "credits.read"]);
  await nextHeartbeat(reader);
  await record(account, "lead.created", "call.answered", "credit.low");
  await nextHeartbeat(reader);
  assert.deepEqual(typesReceived(reader), [
    "lead.created",
    "call.answered",
    "call.answered",
    "credit.low",
  ]);
  await set(["users.read"]);
  await eventually(() => reader.hasEnded());
  assert.deepEqual(reader.events.at(-1), { id: 6, event: "end", data: { reason: "forbidden" } });
});

/** More than the operating system buffers for a connection that is not read. */
async function fill(account: TestAccount) {
  const types = Array<EventType>(2_500).fill("lead.created");
  await insert(account, types, { text: "x".repeat(18_000) });
  await drain();
}

test("a reader that stops reading receives a resync once it is too far behind, and continues from there", async () => {
  const account = await makeAccount(api.app);
  const slow = await openReader(account, { paused: true });
  await fill(account);
  await insert(account, Array<EventType>(behind_max).fill("lead.created"));
  await record(account, "call.answered");
  const head = 2_500 + behind_max + 1;
  slow.response.resume();
  await eventually(() => slow.lastId() === head);
  const at = slow.events.findIndex(({ event }) => event === "resync");
  const { id, data } = slow.events[at]!;
  // The head at the time of the resync depends on timing.
  assert.deepEqual(data, { reason: "behind", from: at, to: id });
  assert.deepEqual(idsOf(slow).slice(0, at), numbers(1, at));
  assert.deepEqual(idsOf(slow).slice(at), numbers(id!, head));
});

test("for a stalled reader, one page is read and one socket buffer is held, however many events follow", async () => {
  const account = await makeAccount(api.app);
  const metrics = openMetrics();
  const live = openLiveEvents(api.app, metrics, manualTimers().timers);
  const caller = callerOf(account.account_id);
  const reauthenticate = () => Promise.resolve(caller);
  const types = typesOf(undefined);
  const readable = await live.open({
    caller,
    reauthenticate,
    types,
    from: 0,
    disconnect: () => {},
  });
  // Requests data and does not consume it.
  readable.on("readable", () => {});
  await eventually(() => readable.readableLength > 0);
  const text = "x".repeat(2_000);
  await insert(account, Array<EventType>(1_000).fill("credit.low"), { text });
  await drain();
  await eventually(() => readable.readableLength > 16_384);
  const reads = await valueOf(metrics.eventReads);
  await insert(account, Array<EventType>(behind_max).fill("credit.low"), { text });
  await drain();
  assert.equal(await valueOf(metrics.eventReads), reads);
  assert.ok(readable.readableLength < 40_000, `${readable.readableLength} bytes`);
  readable.removeAllListeners("readable");
  let received = "";
  readable.on("data", (chunk: Buffer) => (received += chunk.toString()));
  await eventually(() => received.includes("event: resync"));
  // A page holds 131,072 bytes: events read before are sent, and the rest is not read.
  assert.equal((await valueOf(metrics.eventReads)) - reads, 1);
  const count = received.match(/event: credit.low/g)!.length;
  assert.ok(count > 10 && count < 70, `${count} events`);
  const resync = { reason: "behind", from: count, to: 1_000 + behind_max };
  assert.ok(
    received.endsWith(`event: resync\ndata: ${JSON.stringify(resync)}\n\n`),
    received.slice(-300),
  );
  readable.destroy();
});

test("a reader that stalls for a minute is disconnected", async () => {
  const account = await makeAccount(api.app);
  const slow = await openReader(account, { paused: true });
  const quiet = await openReader(account, { query: "?types=callback.test" });
  await fill(account);
  await eventually(async () => {
    here.time.advance(stalled_max_ms);
    return (await streamsAt(here)) === 1;
  });
  slow.response.resume();
  await eventually(() => slow.hasEnded());
  assert.notEqual(slow.lastId(), 2_500);
  assert.equal(quiet.hasEnded(), false);
});

test("resuming at a deleted or unknown position receives a resync with the position that follows", async () => {
  const account = await makeAccount(api.app);
  await record(account, ...Array<EventType>(20).fill("lead.created"));
  await api.app.db.pool.query("delete from events where account_id = $1 and seq <= 10", [
    account.account_id,
  ]);
  type Case = { readonly from: number; readonly expected: string[]; readonly data?: object };
  const cases: Case[] = [
    {
      from: 9,
      expected: ["resync", "call.answered"],
      data: { reason: "expired", from: 9, to: 20 },
    },
    {
      from: 21,
      expected: ["resync", "call.answered"],
      data: { reason: "ahead", from: 21, to: 20 },
    },
    { from: 20, expected: ["call.answered"] },
    { from: 18, expected: ["lead.created", "lead.created", "call.answered"] },
  ];
  const opened: (Case & { readonly reader: EventReader })[] = [];
  for (const one of cases) {
    const reader = await openReader(account, { query: `?last_event_id=${one.from}` });
    opened.push({ ...one, reader });
    await eventually(() => reader.events.length === one.expected.length - 1);
  }
  await record(account, "call.answered");
  for (const { reader, expected, data } of opened) {
    await eventually(() => reader.lastId() === 21);
    assert.deepEqual(typesReceived(reader), expected);
    if (data) assert.deepEqual(reader.events[0], { id: 20, event: "resync", data });
  }
});

test("readers at the same position share their reads", async () => {
  const account = await makeAccount(api.app);
  const opened: EventReader[] = [];
  for (let i = 0; i < 20; i++) opened.push(await openReader(account));
  // Each reader reads once when its stream opens.
  await eventually(() => opened.every((reader) => reader.lastId() === 0));
  for (const reader of opened) await nextHeartbeat(reader);
  const so_far = await valueOf(here.metrics.eventReads);
  for (const n of numbers(1, 10)) {
    await record(account, "lead.created");
    await eventually(() => opened.every((reader) => reader.lastId() === n));
  }
  const reads = (await valueOf(here.metrics.eventReads)) - so_far;
  // Unshared reads would be 200. A notification of another process's relay may arrive besides ours.
  assert.ok(reads >= 10 && reads <= 40, `${reads} reads`);
});

test("an account has a maximum number of streams, and a closed stream frees a place", async () => {
  const [account, other] = [await makeAccount(api.app), await makeAccount(api.app)];
  const opened: EventReader[] = [];
  for (let i = 0; i < streams_of_account_max; i++) opened.push(await openReader(account));
  const { token } = account;
  const ask = () => readEvents(here.url, { token });
  const refused = await ask();
  readers.push(refused);
  assert.equal(refused.response.statusCode, 429);
  assert.equal(refused.response.headers["content-type"], "application/problem+json");
  assert.ok(Number(refused.response.headers["retry-after"]) > 0);
  await openReader(other);
  opened[7]!.close();
  await eventually(async () => {
    const reader = await ask();
    readers.push(reader);
    return reader.response.statusCode === 200;
  });
});

test("a process has a maximum number of streams, and opens none once it stops", async () => {
  const metrics = openMetrics();
  const live = openLiveEvents(api.app, metrics, manualTimers().timers);
  const open = (account_id: number) =>
    live.open({
      caller: callerOf(account_id),
      reauthenticate: () => Promise.resolve(callerOf(account_id)),
      types: typesOf(undefined),
      from: 0,
      disconnect: () => {},
    });
  const opened = await Promise.all(numbers(1, 1_000).map((i) => open(-1 - Math.floor(i / 40))));
  const refusal = { type: "unavailable", headers: { "retry-after": "5" } };
  await assert.rejects(open(-100), { ...refusal, message: /1000 open streams/ });
  opened[0]!.destroy();
  await eventually(async () => (await valueOf(metrics.eventStreams)) === 999);
  const last = await open(-100);
  live.close();
  await assert.rejects(open(-100), { type: "unavailable", message: /stopping/ });
  for (const readable of [...opened, last]) readable.destroy();
  await eventually(async () => (await valueOf(metrics.eventStreams)) === 0);
});

test("a stream sends nothing while its token cannot be checked, and loses no event", async () => {
  const account = await makeAccount(api.app);
  const metrics = openMetrics();
  const time = manualTimers();
  const live = openLiveEvents(api.app, metrics, time.timers);
  let isAvailable = true;
  let checks = 0;
  const caller = callerOf(account.account_id);
  const reauthenticate = async () => {
    checks += 1;
    if (!isAvailable) throw new Error("the database is unavailable");
    return caller;
  };
  const types = typesOf("credit.low");
  const readable = await live.open({
    caller,
    reauthenticate,
    types,
    from: 0,
    disconnect: () => {},
  });
  let text = "";
  readable.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await record(account, "credit.low");
  await eventually(() => text.includes("id: 1\n"));
  isAvailable = false;
  time.advance(heartbeat_ms);
  await eventually(() => checks === 2);
  await record(account, "credit.low");
  const reads = await valueOf(metrics.eventReads);
  time.advance(1_000);
  await eventually(() => checks === 3);
  assert.equal(await valueOf(metrics.eventReads), reads);
  assert.equal(text.includes("id: 2\n"), false);
  isAvailable = true;
  await eventually(() => {
    time.advance(1_000);
    return text.includes("id: 2\n");
  });
  assert.equal(text.match(/event: credit.low/g)!.length, 2);
  readable.destroy();
});

test("a stop ends every stream, stalled or not, and every idle connection", async () => {
  const account = await makeAccount(api.app);
  const at = await startStreaming();
  const reader = await openReader(account, { at, query: "?types=call.*" });
  const slow = await openReader(account, { at, paused: true });
  const unused = connect(Number(new URL(at.url).port), "127.0.0.1");
  unused.on("error", () => {});
  await once(unused, "connect");
  await fill(account);
  await record(account, "call.answered");
  await eventually(() => reader.events.length === 1);
  const closing = at.server.close();
  await eventually(() => reader.hasEnded());
  assert.equal(reader.response.complete, true);
  assert.equal(reader.retryMs(), 3_000);
  // A stalled stream has a second to end.
  await eventually(async () => {
    at.time.advance(1_000);
    return (await streamsAt(at)) === 0;
  });
  await closing;
  slow.response.resume();
  await eventually(() => slow.hasEnded());
  unused.destroy();
});

test("a HEAD request returns the headers and opens no stream", async () => {
  const { token } = await makeAccount(api.app);
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${here.url}/api/v1/events`, { method: "HEAD", headers });
  assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "text/event-stream"]);
  assert.equal(await streamsAt(here), 0);
});
