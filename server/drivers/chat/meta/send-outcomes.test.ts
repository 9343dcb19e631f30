// How each failure is classified: safe to retry, rejected, or outcome unknown.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { inspect } from "node:util";
import { failureOf, template_message } from "../../../../test/support/chat-driver-contract.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import type { InjectedError } from "../../../../test/support/provider-stub/injected-errors.ts";
import { stub_number } from "../../../../test/support/provider-stub/settings.ts";
import {
  startProviderStub,
  type ProviderStub,
} from "../../../../test/support/provider-stub/start-provider-stub.ts";
import type { ChatSendError, Outgoing } from "../driver.ts";
import { asMessageId } from "./json.ts";
import { classifyResponse } from "./classify-response.ts";
import { openMetaDriver, type MetaDriver } from "./open-meta-driver.ts";

let stub: ProviderStub;
let driver: MetaDriver;
let count = 0;
/** The most requests that the driver sends at once for one business account. */
const connections = 1_024;

function open(api_url: string, more: { access_token?: string; send_timeout_ms?: number } = {}) {
  const known = { access_token: "stub-token", app_secret: "s", verify_token: "v" };
  return openMetaDriver({ api_url, ...known, ...more });
}

function outgoing(): Outgoing {
  count += 1;
  const message_id = `outcome-${count}`;
  return { message_id, to: "919812345678", message: template_message, route: "standard" };
}

function failure(sender: MetaDriver = driver, signal?: AbortSignal): Promise<ChatSendError> {
  return failureOf(sender.send(stub_number, outgoing(), signal));
}

before(async () => {
  stub = await startProviderStub();
  driver = open(stub.api_url);
});
beforeEach(() => stub.reset());
after(async () => {
  await driver.close();
  await stub.close();
});

const outcomes: readonly [
  name: string,
  injected: InjectedError,
  failure: string,
  code: number | null,
][] = [
  ["a Graph error", { kind: "refuse", code: 131_056 }, "rejected", 131_056],
  ["a Graph error with status 500", { kind: "graph_500", code: 131_000 }, "rejected", 131_000],
  [
    "status 500 with Meta's code for an unknown server error",
    { kind: "graph_500", code: 1 },
    "unknown",
    1,
  ],
  ["status 500 with Meta's code for an outage", { kind: "graph_500", code: 2 }, "unknown", 2],
  ["status 500 without a Graph error", { kind: "plain_500" }, "unknown", null],
  ["429", { kind: "throttle" }, "throttled", 130_429],
  ["429 with a code that is not a throttling code", { kind: "throttle", code: 1 }, "throttled", 1],
  ["429 with a pair limit", { kind: "throttle", code: 131_056 }, "rejected", 131_056],
  ["code 4", { kind: "refuse", code: 4 }, "throttled", 4],
  ["code 80007", { kind: "refuse", code: 80_007 }, "throttled", 80_007],
  ["an invalid token", { kind: "refuse", code: 190 }, "rejected", 190],
  ["a cut before the body was read", { kind: "cut_before_body" }, "unknown", null],
  ["a cut after the body was read", { kind: "cut_after_body" }, "unknown", null],
  ["a cut in the middle of the response", { kind: "cut_answer" }, "unknown", null],
  ["a 200 with invalid JSON", { kind: "broken_json" }, "unknown", null],
  ["a 200 without an ID", { kind: "no_id" }, "unknown", null],
];
for (const outcome of outcomes) {
  const [name, , expected] = outcome;
  test(`${name} is ${expected}, and the request is not repeated`, () => prove(outcome));
}

async function prove([, injected, expected, code]: (typeof outcomes)[number]): Promise<void> {
  stub.setErrors([injected]);
  const error = await failure();
  assert.deepEqual([error.failure, error.code], [expected, code]);
  assert.equal(stub.counts().requests, 1);
}

test("the outcome is unknown when the provider does not respond in time", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const hasty = open(stub.api_url, { send_timeout_ms: 1_000 });
  assert.equal((await failure(hasty)).failure, "unknown");
  assert.equal(stub.log().length, 1);
  await hasty.close();
});

test("a response that arrives too slowly is aborted in time", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n");
      const drops = setInterval(() => socket.write(" "), 10);
      socket.on("close", () => clearInterval(drops));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const hasty = open(`http://127.0.0.1:${port}/v23.0`, { send_timeout_ms: 1_000 });
  assert.equal((await failure(hasty)).failure, "unknown");
  await hasty.close();
  server.close();
});

test("a request that is aborted while it waits for the response has an unknown outcome", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const control = new AbortController();
  const failed = failure(driver, control.signal);
  await eventually(() => stub.log().length === 1);
  control.abort();
  assert.equal((await failed).failure, "unknown");
});

test("a provider that cannot be reached never receives the message", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const unreachable = [
    `http://127.0.0.1:${port}/v23.0`,
    "http://no-such-host.invalid/v23.0",
    // TLS to a server that does not support it.
    stub.api_url.replace("http:", "https:"),
  ];
  for (const api_url of unreachable) {
    const lost = open(api_url, { send_timeout_ms: 5_000 });
    assert.equal((await failure(lost)).failure, "unreachable", api_url);
    await lost.close();
  }
  assert.equal(stub.counts().requests, 0);
});

test("a host that accepts connections but no handshake never receives the message", async () => {
  let hello = "";
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => (hello += chunk.toString("latin1")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const lost = open(`https://127.0.0.1:${port}/v23.0`, { send_timeout_ms: 1_000 });
  assert.equal((await failure(lost)).failure, "unreachable");
  // Offers only HTTP/1.1, because undici may resend a request over HTTP/2.
  assert.match(hello, /http\/1\.1/);
  assert.equal(hello.includes("\u0002h2"), false);
  await lost.close();
  server.close();
});

test("never sends a message that is aborted while it waits for a connection", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const first = new AbortController();
  const hanging = Array.from({ length: connections }, () => failure(driver, first.signal));
  await eventually(() => stub.log().length === connections);
  const second = new AbortController();
  const waiting = Array.from({ length: 50 }, () => failure(driver, second.signal));
  second.abort();
  for (const error of await Promise.all(waiting)) assert.equal(error.failure, "unreachable");
  first.abort();
  for (const error of await Promise.all(hanging)) assert.equal(error.failure, "unknown");
  stub.setErrors([]);
  await Promise.all(Array.from({ length: 100 }, () => driver.send(stub_number, outgoing())));
  assert.equal(stub.log().length, connections + 100);
});

test("never sends a message that waits for a connection until its time limit", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const first = new AbortController();
  const hanging = Array.from({ length: connections }, () => failure(driver, first.signal));
  await eventually(() => stub.log().length === connections);
  stub.setErrors([]);
  const begin_by_ms = performance.now() + 5;
  const waiting = Array.from({ length: 50 }, () =>
    failureOf(driver.send(stub_number, { ...outgoing(), begin_by_ms })),
  );
  await eventually(() => performance.now() > begin_by_ms);
  // A connection becomes free for each of them.
  first.abort();
  for (const error of await Promise.all(waiting)) assert.equal(error.failure, "late");
  await Promise.all(hanging);
  assert.equal(stub.log().length, connections);
});

test("a message is sent at once while the requests of another business account use all of its connections", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const control = new AbortController();
  const hanging = Array.from({ length: connections + 50 }, () => failure(driver, control.signal));
  await eventually(() => stub.log().length === connections);
  stub.setErrors([]);
  const other = { ...stub_number, business_account_id: "another" };
  await driver.send(other, outgoing());
  assert.equal(stub.log().length, connections + 1);
  control.abort();
  await Promise.all(hanging);
});

test("1,000 messages are in flight at once", async () => {
  stub.setErrors([{ kind: "hang", hang_ms: 60_000 }]);
  const control = new AbortController();
  const sent = Array.from({ length: 1_000 }, () => failure(driver, control.signal));
  await eventually(() => stub.log().length === 1_000);
  assert.equal(stub.counts().in_flight_max, 1_000);
  control.abort();
  await Promise.all(sent);
});

test("never writes to idle connections that the provider closed", async () => {
  const own = await startProviderStub();
  const sender = open(own.api_url);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => sender.send(stub_number, outgoing())));
    own.closeConnections();
    // A request on another connection, so that the others are seen to close.
    await fetch(`${own.url}/_stub/health`, { headers: { connection: "close" } });
  }
  assert.equal(own.counts().requests, 30);
  await sender.close();
  await own.close();
});

test("reports Retry-After in milliseconds, or null if it is absent", async () => {
  stub.setErrors([{ kind: "throttle", retry_after_seconds: 7 }]);
  assert.equal((await failure()).retry_after_ms, 7_000);
  stub.setErrors([{ kind: "throttle", retry_after_seconds: null }]);
  assert.equal((await failure()).retry_after_ms, null);
});

test("classifies a response by its status, code and form", () => {
  const classify = (status: number, text: string, retry_after: string | null = null) => {
    try {
      classifyResponse({ status, text, retry_after });
      return "yes";
    } catch (error) {
      const { failure: kind, code, retry_after_ms } = error as ChatSendError;
      return [kind, code, retry_after_ms].filter((part) => part !== null).join(" ");
    }
  };
  assert.equal(classify(200, "{}"), "yes");
  assert.equal(classify(200, '{"error":{"code":131026}}'), "rejected 131026");
  assert.equal(classify(200, '{"error":{}}'), "unknown");
  assert.equal(classify(200, "[]"), "unknown");
  assert.equal(classify(302, ""), "unknown");
  assert.equal(classify(401, "<html>"), "rejected 190");
  assert.equal(classify(401, '{"error":{"code":0}}'), "rejected 0");
  assert.equal(classify(404, "not here"), "rejected");
  assert.equal(classify(408, ""), "unknown 5000");
  assert.equal(classify(429, ""), "throttled");
  assert.equal(classify(429, "", "3"), "throttled 3000");
  assert.equal(classify(429, "", "Wed, 21 Oct 2026 07:28:00 GMT"), "throttled");
  assert.equal(classify(429, "", "999999999"), "throttled 86400000");
  assert.equal(classify(400, '{"error":{"code":130429}}', "2"), "throttled 130429 2000");
  for (const code of [131048, 131049, 131056, 131057, 131064])
    assert.equal(classify(429, `{"error":{"code":${code}}}`, "2"), `rejected ${code}`);
  assert.equal(classify(429, '{"error":{"code":2}}'), "throttled 2");
  assert.equal(classify(503, '{"error":{"code":131016}}'), "rejected 131016");
  assert.equal(classify(503, '{"error":{"code":2}}'), "rejected 2");
  assert.equal(classify(500, '{"error":{"code":2}}'), "unknown 2 5000");
  assert.equal(classify(400, '{"error":{"code":1}}'), "rejected 1");
  assert.equal(classify(400, '{"error":{"code":100,"error_subcode":33}}'), "rejected 33");
  assert.equal(classify(400, '{"error":{"code":100,"error_subcode":2494010}}'), "rejected 100");
  assert.equal(classify(503, '{"error":{"message":"x"}}'), "unknown 5000");
  assert.equal(classify(502, "<html>"), "unknown 5000");
  assert.equal(classify(400, '{"error":{"code":3000000000}}'), "rejected");
  assert.equal(classify(400, '{"error":{"code":1.5}}'), "rejected");
});

test("the outcome is unknown when the message ID cannot be stored", () => {
  assert.equal(asMessageId("wamid.HBgM"), "wamid.HBgM");
  assert.equal(asMessageId("w".repeat(255)), "w".repeat(255));
  for (const id of ["", "w".repeat(256), "w\0", "w\ud800", 7, null])
    assert.equal(asMessageId(id), null);
});

test("never exposes the token, the recipient or the provider's text in an error", async () => {
  const errors: readonly InjectedError[] = outcomes.map(([, injected]) => injected);
  for (const injected of errors) {
    stub.setErrors([injected]);
    assert.doesNotMatch(inspect(await failure(), { depth: 20 }), /stub-token|9198123|\(#|Zoë/);
  }
  const stranger = open(stub.api_url, { access_token: "other-token" });
  stub.setErrors([]);
  const error = await failure(stranger);
  assert.equal(error.code, 190);
  assert.doesNotMatch(inspect(error, { depth: 20 }), /other-token|stub-token/);
  await stranger.close();
});

test("an access token that is not a valid header value sends nothing and is not exposed", async () => {
  const broken = open(stub.api_url, { access_token: "secret\ntoken" });
  const error = await failure(broken);
  assert.equal(error.failure, "unreachable");
  assert.doesNotMatch(inspect(error, { depth: 20 }), /secret/);
  await broken.close();
});
