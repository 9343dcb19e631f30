// What a real Asterisk cannot be made to do: here a switch of our own making does it.
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

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const password = "the-secret-password";
const dial: Dial = {
  leg: "trk-1-1-1",
  call: "trk-1-1",
  to: { kind: "trunk", endpoint: "carrier-1", number: "+919876543210" },
  caller_id: "+918000000001",
  ring_seconds: 30,
};

/** A switch that takes connections, and answers to `answer` what is not about them. */
async function openSwitch() {
  const sockets: WebSocket[] = [];
  const requests: string[] = [];
  const state = {
    answer: ((_, response) => response.end("{}")) as Answer,
    started: "one",
    mute: false,
    /** Whether it says when it started, and when it says so. */
    prepares: true,
    ready: Promise.resolve(),
  };
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume();
    const about = request.url ?? "";
    if (!/\/(?:eventFilter|asterisk\/info)\b/.test(about)) return state.answer(request, response);
    if (!state.prepares) return response.writeHead(503).end('{"message":"Asterisk not booted"}');
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

const voice_switch = await openSwitch();
const { state, requests, sockets, node } = voice_switch;
/** So patient that no pause of this process looks like a fault of the switch. */
const driver = openAsteriskDriver(openLog("silent"), {
  request_timeout_ms: 60_000,
  ping_ms: 60_000,
});
/** For what is found out by waiting. */
const hasty = openAsteriskDriver(openLog("silent"), { request_timeout_ms: 1_500, ping_ms: 150 });
const told: VoiceEvent[] = [];
const ringing = { id: "trk-1-1-1_trunkline", state: "Ringing" };
let session = driver.open(node, (event) => told.push(event));

function reopen() {
  told.length = 0;
  session = driver.open(node, (event) => told.push(event));
}

const connections = () => told.filter(({ type }) => type === "connected").length;

afterEach(async () => {
  await session.close();
  state.answer = (_, response) => response.end("{}");
  state.mute = false;
  state.prepares = true;
  reopen();
  await eventually(() => connections() > 0);
});

after(async () => {
  await session.close();
  voice_switch.close();
});

/** A connection of the hasty driver's until the end of the test, and what is heard over it. */
async function openHasty(t: TestContext) {
  const heard: VoiceEvent["type"][] = [];
  const own = hasty.open(node, ({ type }) => heard.push(type));
  t.after(() => own.close());
  await eventually(() => heard.includes("connected"));
  return { own, heard };
}

async function failureOf(request: Promise<unknown>): Promise<VoiceError> {
  const error: unknown = await request.then(
    () => assert.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof VoiceError, String(error));
  assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes(password));
  return error;
}

test("a dial that is not answered in time may have happened", async (t) => {
  state.answer = () => {};
  const { own } = await openHasty(t);
  assert.equal((await failureOf(own.dial(dial))).failure, "unknown");
});

test("a dial that may no longer be begun once its turn to leave has come certainly never happened", async () => {
  let may = true;
  const frozen = driver.open(
    node,
    () => {},
    () => may,
  );
  const asked = requests.length;
  const dialled = frozen.dial(dial);
  may = false;
  assert.equal((await failureOf(dialled)).failure, "unreachable");
  assert.ok(!requests.slice(asked).some((request) => request.startsWith("POST")));
  await frozen.close();
});

test("a dial whose answer is cut may have happened, before it or within it", async () => {
  state.answer = (request) => request.socket.destroy();
  assert.equal((await failureOf(session.dial(dial))).failure, "unknown");
  state.answer = (request, response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write('{"id":', () => request.socket.destroy());
  };
  assert.equal((await failureOf(session.dial(dial))).failure, "unknown");
});

test("a dial that waits too long for a free connection is told as never sent, and never is", async (t) => {
  state.answer = () => {};
  const { own } = await openHasty(t);
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

test("a dial to nobody never left", async () => {
  const gone = await openSwitch();
  gone.close();
  const other = driver.open(gone.node, () => {});
  assert.equal((await failureOf(other.dial(dial))).failure, "unreachable");
  assert.equal((await failureOf(other.survey())).failure, "unreachable");
  await other.close();
});

const answers: readonly (readonly [number, object, VoiceError["failure"] | null, string | null])[] =
  [
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
for (const [status, body, failure, outcome] of answers) {
  const what = `${status} ${JSON.stringify(body)}`;
  test(`a dial that is answered ${what}: ${failure ?? "done"}`, () =>
    meansOfDial(status, body, failure, outcome));
}

async function meansOfDial(...[status, body, failure, outcome]: (typeof answers)[number]) {
  state.answer = (_, response) => response.writeHead(status).end(JSON.stringify(body));
  if (failure === null) return session.dial(dial);
  const error = await failureOf(session.dial(dial));
  assert.deepEqual([error.failure, error.ending?.outcome ?? null], [failure, outcome]);
}

test("a dial says who is called, in a form that nothing can break out of", async () => {
  requests.length = 0;
  await session.dial(dial);
  await session.dial({ ...dial, to: { kind: "extension", endpoint: "agent_1-a", number: "1" } });
  const rest = "context=out&extension=s&priority=1&callerId=%2B918000000001&timeout=30";
  assert.deepEqual(requests, [
    `POST /ari/channels/trk-1-1-1_trunkline?endpoint=PJSIP%2F%2B919876543210%40carrier-1&${rest}`,
    `POST /ari/channels/trk-1-1-1_trunkline?endpoint=PJSIP%2Fagent_1-a&${rest}`,
  ]);
});

test("what is no number and no endpoint's name is refused, and never sent", async () => {
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

test("a connection that went silent is found out and made again", async (t) => {
  const { heard } = await openHasty(t);
  state.mute = true;
  await eventually(() => heard.at(-1) === "disconnected");
  state.mute = false;
  await eventually(() => heard.at(-1) === "connected");
});

test("a connection counts once the switch has started, then with all that came before", async () => {
  await session.close();
  state.prepares = false;
  const before = sockets.length;
  reopen();
  await eventually(() => sockets.length > before + 1);
  assert.deepEqual(told, []);
  state.prepares = true;
  await eventually(() => connections() === 1);
});

test("what is heard before a connection counts is told after it", async () => {
  await session.close();
  const ready = Promise.withResolvers<void>();
  state.ready = ready.promise;
  const before = sockets.length;
  reopen();
  await eventually(() => sockets.length > before);
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  // Answered after the message.
  sockets.at(-1)!.ping();
  await once(sockets.at(-1)!, "pong");
  assert.deepEqual(told, []);
  ready.resolve();
  await eventually(() => told.length === 2);
  assert.deepEqual(
    told.map(({ type }) => type),
    ["connected", "ringing"],
  );
});

test("messages of no known shape are passed over", async () => {
  for (const message of [
    "",
    "no JSON",
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
  await eventually(() => told.length === 2);
  assert.equal(told.at(-1)?.type, "ringing");
});

test("a restart of the switch shows as another epoch, and its legs are forgotten", async () => {
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  await eventually(() => told.length === 2);
  state.started = "two";
  sockets.at(-1)!.terminate();
  await eventually(() => connections() >= 2);
  sockets.at(-1)!.send(JSON.stringify({ type: "ChannelStateChange", channel: ringing }));
  await eventually(() => told.length === 5);
  assert.deepEqual(
    told.map((event) => (event.type === "connected" ? event.epoch : event.type)),
    ["one", "ringing", "disconnected", "two", "ringing"],
  );
});

test("after a close nothing is told, and nothing is connected again", async () => {
  const count = sockets.length;
  const heard = told.length;
  await session.close();
  await session.close();
  await eventually(() => sockets.at(-1)!.readyState === 3);
  assert.deepEqual([sockets.length, told.length], [count, heard]);
});
