// Failures that a real Asterisk cannot be made to produce, from a stub of ARI.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, test, type TestContext } from "node:test";
import { WebSocketServer, type WebSocket } from "ws";
import { openLog } from "../../../lib/log.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { VoiceError, type Dial, type VoiceEvent, type VoiceNode } from "../driver.ts";
import { openAsteriskDriver } from "./open-asterisk-driver.ts";

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

const password = "the-secret-password";
const dial: Dial = {
  leg: "trk-1-1-1",
  call: "trk-1-1",
  to: { kind: "trunk", endpoint: "carrier-1", number: "+919876543210" },
  caller_id: "+918000000001",
  ring_seconds: 30,
};

/** Starts a stub that accepts connections and passes all other requests to `respond`. */
async function startSwitchStub() {
  const sockets: WebSocket[] = [];
  const requests: string[] = [];
  const state = {
    respond: ((_, response) => response.end("{}")) as Respond,
    started: "one",
    mute: false,
    /** Whether the start time can be read, and when the response is sent. */
    isBooted: true,
    ready: Promise.resolve(),
  };
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    const path = request.url ?? "";
    if (!/\/(?:eventFilter|asterisk\/info)\b/.test(path)) return state.respond(request, response);
    if (!state.isBooted) return response.writeHead(503).end('{"message":"Asterisk not booted"}');
    const info = JSON.stringify({ status: { startup_time: state.started } });
    void state.ready.then(() => response.end(info));
  });
  const events = new WebSocketServer({ noServer: true, autoPong: false });
  server.on("upgrade", (request, socket, head) => {
    events.handleUpgrade(request, socket, head, (opened) => {
      sockets.push(opened);
      opened.on("ping", () => {
        if (!state.mute) opened.pong();
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const ari = { url: `http://127.0.0.1:${port}/ari`, user: "u", password, app: "trunkline" };
  const node: VoiceNode = { id: 1, name: "stub", ari, cdr_path: null, sounds_dir: null };
  return {
    node,
    state,
    requests,
    sockets,
    close() {
      for (const socket of sockets) socket.terminate();
      server.closeAllConnections();
      server.close();
    },
  };
}

const voice_switch = await startSwitchStub();
const { state, requests, sockets, node } = voice_switch;
/** Its time-outs exceed any pause of a busy machine. */
const driver = openAsteriskDriver(openLog("silent"), {
  request_timeout_ms: 60_000,
  ping_ms: 60_000,
});
/** A driver with short time-outs. */
const impatient = openAsteriskDriver(openLog("silent"), {
  request_timeout_ms: 1_500,
  ping_ms: 150,
});
const received: VoiceEvent[] = [];
const ringing = { id: "trk-1-1-1_trunkline", state: "Ringing" };
let session = driver.open(node, (event) => received.push(event));

function reopen() {
  received.length = 0;
  session = driver.open(node, (event) => received.push(event));
}

const connections = () => received.filter(({ type }) => type === "connected").length;

afterEach(async () => {
  await session.close();
  state.respond = (_, response) => response.end("{}");
  state.mute = false;
  state.isBooted = true;
  reopen();
  await eventually(() => connections() > 0);
});

after(async () => {
  await session.close();
  voice_switch.close();
});

/** Opens a session of the impatient driver until the end of the test, and collects its event types. */
async function openImpatient(t: TestContext) {
  const types: VoiceEvent["type"][] = [];
  const own = impatient.open(node, ({ type }) => types.push(type));
  t.after(() => own.close());
  await eventually(() => types.includes("connected"));
  return { own, types };
}

async function failureOf(request: Promise<unknown>): Promise<VoiceError> {
  const error: unknown = await request.then(
    () => assert.fail("the request succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof VoiceError, String(error));
  assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes(password));
  return error;
}

test("a dial whose response times out may have been executed", async (t) => {
  state.respond = () => {};
  const { own } = await openImpatient(t);
  assert.equal((await failureOf(own.dial(dial))).failure, "unknown");
});

test("a dial that maySend forbids when it is about to be sent was certainly not executed", async () => {
  let isAllowed = true;
  const frozen = driver.open(
    node,
    () => {},
    () => isAllowed,
  );
  const earlier = requests.length;
  const dialing = frozen.dial(dial);
  isAllowed = false;
  assert.equal((await failureOf(dialing)).failure, "unreachable");
  assert.ok(!requests.slice(earlier).some((request) => request.startsWith("POST")));
  await frozen.close();
});

test("a dial whose connection drops before or during the response may have been executed", async () => {
  state.respond = (request) => request.socket.destroy();
  assert.equal((await failureOf(session.dial(dial))).failure, "unknown");
  state.respond = (request, response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write('{"id":', () => request.socket.destroy());
  };
  assert.equal((await failureOf(session.dial(dial))).failure, "unknown");
});

test("a dial that times out in the queue is reported as never sent, and is not sent", async (t) => {
  state.respond = () => {};
  const { own } = await openImpatient(t);
  requests.length = 0;
  const legs = Array.from({ length: 300 }, (_, at) => `trk-1-${at}-1`);
  const errors = await Promise.all(legs.map((leg) => failureOf(own.dial({ ...dial, leg }))));
  const unsent = legs.filter((_, at) => errors[at]?.failure === "unreachable");
  assert.ok(unsent.length > 0);
  const sent = new Set(requests.map((request) => /trk-[\d-]+/.exec(request)?.[0]));
  assert.deepEqual(
    unsent.filter((leg) => sent.has(leg)),
    [],
  );
});

test("a dial to a closed port was never sent", async () => {
  const gone = await startSwitchStub();
  gone.close();
  const other = driver.open(gone.node, () => {});
  assert.equal((await failureOf(other.dial(dial))).failure, "unreachable");
  assert.equal((await failureOf(other.snapshot())).failure, "unreachable");
  await other.close();
});

const responses: readonly (readonly [
  number,
  object,
  VoiceError["failure"] | null,
  string | null,
])[] = [
  [200, {}, null, null],
  [409, {}, null, null],
  [500, { error: "Allocation failed" }, "refused", "unreachable"],
  [400, { message: "Endpoint not specified" }, "refused", "failed"],
  [401, {}, "refused", "failed"],
  [404, {}, "unreachable", null],
  [503, { message: "Asterisk not booted" }, "unreachable", null],
  [503, {}, "unknown", null],
  [502, {}, "unknown", null],
  [500, {}, "unknown", null],
  [408, {}, "unknown", null],
];
for (const [status, body, failure, outcome] of responses) {
  const response = `${status} ${JSON.stringify(body)}`;
  test(`a dial with the response ${response}: ${failure ?? "success"}`, () =>
    assertDialResult(status, body, failure, outcome));
}

async function assertDialResult(...[status, body, failure, outcome]: (typeof responses)[number]) {
  state.respond = (_, response) => response.writeHead(status).end(JSON.stringify(body));
  if (failure === null) return session.dial(dial);
  const error = await failureOf(session.dial(dial));
  assert.deepEqual([error.failure, error.ending?.outcome ?? null], [failure, outcome]);
}

test("a recording that the switch cannot delete is refused, and one that does not exist is deleted", async () => {
  const answerWith = (status: number, message: string) => {
    state.respond = (_, response) => response.writeHead(status).end(JSON.stringify({ message }));
  };
  answerWith(500, "Delete failed");
  assert.equal((await failureOf(driver.deleteRecording(node, "trk-1-1"))).failure, "refused");
  answerWith(500, "Internal Server Error");
  assert.equal((await failureOf(driver.deleteRecording(node, "trk-1-1"))).failure, "unknown");
  answerWith(404, "Recording not found");
  await driver.deleteRecording(node, "trk-1-1");
});

test("a dial sends the endpoint and the caller ID, escaped", async () => {
  requests.length = 0;
  await session.dial(dial);
  await session.dial({ ...dial, to: { kind: "extension", endpoint: "agent_1-a", number: "1" } });
  const rest = "context=out&extension=s&priority=1&callerId=%2B918000000001&timeout=30";
  assert.deepEqual(requests, [
    `POST /ari/channels/trk-1-1-1_trunkline?endpoint=PJSIP%2F%2B919876543210%40carrier-1&${rest}`,
    `POST /ari/channels/trk-1-1-1_trunkline?endpoint=PJSIP%2Fagent_1-a&${rest}`,
  ]);
});

test("an invalid number or SIP endpoint is refused without a request", async () => {
  requests.length = 0;
  for (const bad of ["", "12 34", "1@other", "1&PJSIP/2", "1/2", "1,2", "1;2", "+91\n", "９１"]) {
    for (const order of [
      { ...dial, caller_id: bad },
      { ...dial, to: { ...dial.to, number: bad } },
    ]) {
      const error = await failureOf(session.dial(order));
      assert.deepEqual([error.failure, error.ending?.outcome], ["refused", "invalid"]);
    }
    const order = { ...dial, to: { ...dial.to, endpoint: bad } };
    if (bad !== "") assert.equal((await failureOf(session.dial(order))).failure, "refused");
  }
  assert.deepEqual(requests, []);
});

/** Makes the stub have a recording in this state; returns the further requests but those of connections. */
function haveRecording(kind: "live" | "stored" | null, deleted = 204): string[] {
  const further: string[] = [];
  state.respond = (request, response) => {
    const path = request.url ?? "";
    further.push(`${request.method} ${path.replace(/\?.*/, "").replace("/ari/", "")}`);
    const looked_for = /\/recordings\/(live|stored)\//.exec(path)?.[1];
    if (request.method === "DELETE") response.writeHead(deleted);
    else if (looked_for !== undefined && looked_for !== kind) response.writeHead(404);
    response.end("{}");
  };
  return further;
}

const leg = "trk-1-1-1";
const note = "trk-1-1-m1";
const limits = { max_seconds: 60, silence_seconds: 5 };
const recorded = () => received.filter(({ type }) => type === "recorded" || type === "silent");

/** The leg is answered, as this session sees it. */
async function answer(): Promise<void> {
  const channel = { ...ringing, state: "Up" };
  sockets.at(-1)!.send(JSON.stringify({ type: "StasisStart", channel, args: [] }));
  await eventually(() => received.at(-1)?.type === "answered");
}

test("a repeated request reports the end of a message that was missed, without another beep", async () => {
  await session.dial(dial);
  const started = haveRecording(null);
  await session.recordMessage(leg, note, limits);
  assert.deepEqual(started, [
    `POST channels/${leg}_trunkline/play/${note}-beep_trunkline`,
    `POST channels/${leg}_trunkline/record`,
  ]);
  const while_live = haveRecording("live");
  await session.recordMessage(leg, note, limits);
  assert.deepEqual(while_live, [`GET recordings/live/${note}_trunkline`]);
  assert.deepEqual(recorded(), []);
  const once_stored = haveRecording("stored");
  for (let i = 0; i < 2; i++) await session.recordMessage(leg, note, limits);
  assert.ok(!once_stored.some((request) => request.startsWith("POST")), String(once_stored));
  assert.deepEqual(recorded(), [{ type: "recorded", recording: note, ok: true }]);
});

test("reports the end of a message that an earlier session began, and begins one that it did not", async () => {
  haveRecording("stored");
  await session.recordMessage(leg, note, limits);
  assert.deepEqual(recorded(), [{ type: "recorded", recording: note, ok: true }]);
  const requests_of_second = haveRecording(null);
  await session.recordMessage(leg, "trk-1-1-m2", limits);
  assert.equal(requests_of_second.at(-1), `POST channels/${leg}_trunkline/record`);
});

test("a message that has begun and left no file is reported as failed", async () => {
  await session.dial(dial);
  haveRecording(null);
  await session.recordMessage(leg, note, limits);
  const recording = { name: `${note}_trunkline` };
  sockets.at(-1)!.send(JSON.stringify({ type: "RecordingStarted", recording }));
  // The pong arrives after the message.
  sockets.at(-1)!.ping();
  await once(sockets.at(-1)!, "pong");
  await session.recordMessage(leg, note, limits);
  assert.deepEqual(recorded(), [{ type: "recorded", recording: note, ok: false }]);
});

test("a repeated request reports the end of a greeting that was missed, and its recording is deleted", async () => {
  await answer();
  const greeting = haveRecording("stored");
  await session.awaitSilence(leg);
  assert.deepEqual(
    recorded().map(({ type }) => type),
    ["silent"],
  );
  await eventually(() => greeting.includes(`DELETE recordings/stored/${leg}-greeting_trunkline`));
});

test("the recording of a greeting that could not be deleted is deleted after its leg has ended", async () => {
  await answer();
  const failed = haveRecording("stored", 500);
  await session.awaitSilence(leg);
  const deletion = `DELETE recordings/stored/${leg}-greeting_trunkline`;
  await eventually(() => failed.includes(deletion));
  const again = haveRecording("stored");
  const channel = { ...ringing, state: "Up" };
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelDestroyed", channel, cause: 16 }));
  await eventually(() => again.includes(deletion));
});

test("the recording of a greeting whose end was missed is deleted once a snapshot lacks its leg", async () => {
  await answer();
  haveRecording(null);
  await session.awaitSilence(leg);
  const deletion = `DELETE recordings/stored/${leg}-greeting_trunkline`;
  const further = haveRecording(null);
  const { respond } = state;
  state.respond = (request, response) => {
    const isList = /\/(?:channels|bridges)$/.test(request.url ?? "");
    if (isList) response.end("[]");
    else respond(request, response);
  };
  await session.snapshot();
  await eventually(() => further.includes(deletion));
});

/** Makes the stub refuse to bridge while it records; `stops` are the statuses of the first requests to stop. */
function bridgeUnlessRecorded(live: Set<string>, stops: number[] = []): string[] {
  const further: string[] = [];
  state.respond = (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://stub");
    const [kind, name, action = ""] = pathname.replace("/ari/", "").replace("live/", "").split("/");
    if (action === "record") live.add(searchParams.get("name")!);
    else if (action === "addChannel") {
      further.push(live.size > 0 ? "refused" : "bridged");
      if (live.size > 0) response.writeHead(409);
    } else if (action === "stop") {
      const status = stops.shift() ?? 204;
      further.push(`stop ${name} ${status}`);
      if (status === 204) live.delete(name!);
      response.writeHead(status);
    } else if (kind === "playbacks" || (kind === "recordings" && !live.has(name!)))
      response.writeHead(404);
    response.end('{"state":"recording"}');
  };
  return further;
}

test("stops the recording of a greeting and of a message before it bridges the leg", async () => {
  for (const begin of [
    () => session.awaitSilence(leg),
    () => session.recordMessage(leg, note, limits),
  ]) {
    await session.dial({ ...dial, leg });
    const live = new Set<string>();
    const further = bridgeUnlessRecorded(live);
    await begin();
    const [recording] = live;
    await session.bridge("trk-1-1", [leg]);
    assert.deepEqual(further, [`stop ${recording} 204`, "bridged"]);
  }
});

test("a repeated bridge stops the recording again when the first stop failed", async () => {
  await session.dial(dial);
  const further = bridgeUnlessRecorded(new Set(), [500]);
  await session.awaitSilence(leg);
  await failureOf(session.bridge("trk-1-1", [leg]));
  await session.bridge("trk-1-1", [leg]);
  const greeting = `${leg}-greeting_trunkline`;
  assert.deepEqual(further, [`stop ${greeting} 500`, `stop ${greeting} 204`, "bridged"]);
});

test("stops the recording of a greeting that an earlier session began before it bridges the leg", async () => {
  const greeting = `${leg}-greeting_trunkline`;
  const further = bridgeUnlessRecorded(new Set([greeting]));
  await session.bridge("trk-1-1", [leg]);
  assert.deepEqual(further, [`stop ${greeting} 204`, "bridged"]);
});

test("a silent connection is detected and replaced", async (t) => {
  const { types } = await openImpatient(t);
  state.mute = true;
  await eventually(() => types.at(-1) === "disconnected");
  state.mute = false;
  await eventually(() => types.at(-1) === "connected");
});

test("connected is reported only once the switch has started", async () => {
  await session.close();
  state.isBooted = false;
  const before = sockets.length;
  reopen();
  await eventually(() => sockets.length > before + 1);
  assert.deepEqual(received, []);
  state.isBooted = true;
  await eventually(() => connections() === 1);
});

test("events that arrive before connected are reported after it", async () => {
  await session.close();
  const ready = Promise.withResolvers<void>();
  state.ready = ready.promise;
  const before = sockets.length;
  reopen();
  await eventually(() => sockets.length > before);
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  // The pong arrives after the message.
  sockets.at(-1)!.ping();
  await once(sockets.at(-1)!, "pong");
  assert.deepEqual(received, []);
  ready.resolve();
  await eventually(() => received.length === 2);
  assert.deepEqual(
    received.map(({ type }) => type),
    ["connected", "ringing"],
  );
});

test("malformed messages are ignored", async () => {
  for (const message of [
    "",
    "not JSON",
    "null",
    "[]",
    '{"type":"Dial"}',
    '{"type":"StasisStart"}',
    '{"type":"PlaybackFinished","playback":{"id":"trk-1-1-1_trunkline"}}',
    '{"type":"RecordingStarted","recording":{}}',
  ]) {
    sockets.at(-1)!.send(message);
  }
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  await eventually(() => received.length === 2);
  assert.equal(received.at(-1)?.type, "ringing");
});

test("a restart of the switch changes the epoch and clears its legs", async () => {
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  await eventually(() => received.length === 2);
  state.started = "two";
  sockets.at(-1)!.terminate();
  await eventually(() => connections() >= 2);
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  await eventually(() => received.length === 5);
  assert.deepEqual(
    received.map((event) => (event.type === "connected" ? event.epoch : event.type)),
    ["one", "ringing", "disconnected", "two", "ringing"],
  );
});

test("a closed session reports nothing and does not reconnect", async () => {
  const count = sockets.length;
  const count_before = received.length;
  await session.close();
  await session.close();
  await eventually(() => sockets.at(-1)!.readyState === 3);
  assert.deepEqual([sockets.length, received.length], [count, count_before]);
});
