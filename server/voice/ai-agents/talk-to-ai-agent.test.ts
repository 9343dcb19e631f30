import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { WebSocket, type ClientOptions } from "ws";
import { createSession } from "../../accounts/sessions/create-session.ts";
import { openScriptedDriver } from "../../drivers/ai-agent/scripted/open-scripted-driver.ts";
import { bytes_per_ms } from "../../lib/audio/audio.ts";
import {
  makeAccount,
  makeAgentToken,
  makeToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openScriptedSpeech } from "../../../test/support/scripted-speech.ts";
import { aiAgentRule } from "../../../test/support/ai-agent-rule.ts";
import { makeExtension } from "../../../test/support/telephony-factory.ts";
import { silence, tone } from "../../../test/support/tones.ts";
import type { TalkOutput } from "./talk-schema.ts";

const speech = openScriptedSpeech();
let api: TestApi;
let account: TestAccount;
before(async () => {
  api = await startApi({ speech, aiAgentDrivers: { scripted: openScriptedDriver({ speech }) } });
  account = await makeAccount(api.app);
  await makeExtension(api.app, account, "101");
});
after(() => api.close());

const path = "/api/v1/voice/agents/talk";

const agent = {
  greeting: "Hello {{name|there}}",
  rules: [
    aiAgentRule("9", "stop", "You are off the list", "opt_out"),
    aiAgentRule("0", "person", "One moment", "transfer"),
  ],
  fields: [{ key: "city", question: "Which city?" }],
  closing: "Bye",
  transfer_to: { extension: "101" },
};

type Talk = {
  readonly socket: WebSocket;
  readonly messages: readonly TalkOutput[];
  readonly audio_ms: () => number;
  readonly send: (message: object) => void;
  readonly closed: () => Promise<number>;
};

/** Opens a socket and waits until it is open; throws with the status if the handshake is refused. */
async function connect(options: ClientOptions = bearer(account.token)): Promise<Talk> {
  const socket = new WebSocket(api.url.replace("http", "ws") + path, options);
  const messages: TalkOutput[] = [];
  let bytes = 0;
  let code: number | null = null;
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length;
    else messages.push(JSON.parse(data.toString()) as TalkOutput);
  });
  socket.on("close", (closed) => (code = closed));
  await once(socket, "open");
  return {
    socket,
    messages,
    audio_ms: () => bytes / bytes_per_ms,
    send: (message) => socket.send(JSON.stringify(message)),
    async closed() {
      await eventually(() => code !== null);
      return code!;
    },
  };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const said = ({ messages }: Talk, who: "agent" | "caller") =>
  messages.flatMap((one) => (one.type === "said" && one.who === who ? [one.text] : []));

async function begin(change: object = {}, variables = {}): Promise<Talk> {
  const talk = await connect();
  talk.send({ type: "start", agent: { ...agent, ...change }, variables });
  await eventually(() => said(talk, "agent").length > 0);
  return talk;
}

test("an unsaved AI agent greets with the given values, answers keys and text, and ends the talk", async () => {
  const talk = await begin({}, { name: "Ada" });
  assert.equal(talk.messages[0]!.type, "ready");
  assert.deepEqual(said(talk, "agent"), ["Hello Ada"]);
  await eventually(() => talk.audio_ms() > 0);
  talk.send({ type: "text", text: "Pune" });
  await eventually(() => talk.messages.some(({ type }) => type === "flush"));
  talk.send({ type: "key", key: "0" });
  assert.equal(await talk.closed(), 1000);
  assert.deepEqual(said(talk, "caller"), ["Pune", "pressed 0"]);
  assert.deepEqual(talk.messages.at(-1), { type: "tool", tool: { name: "transfer_to_agent" } });
});

test("speech in the person's audio is recognized and interrupts the AI agent", async () => {
  const talk = await begin();
  speech.scriptTranscript("Please stop");
  talk.socket.send(Buffer.concat([tone(400), silence(900)]));
  assert.equal(await talk.closed(), 1000);
  assert.deepEqual(said(talk, "caller"), ["Please stop"]);
  assert.deepEqual(
    talk.messages.filter(({ type }) => type === "tool"),
    [
      { type: "tool", tool: { name: "opt_out" } },
      { type: "tool", tool: { name: "end_call" } },
    ],
  );
  const { body } = await api.send("GET", "/api/v1/suppressions", { token: account.token });
  assert.deepEqual(body.data, [], "no number is suppressed");
});

test("every violation of the AI agent is named at its field, and nothing begins", async () => {
  const talk = await connect();
  talk.send({
    type: "start",
    agent: { greeting: "", voices: "x", rules: [aiAgentRule("", "", "Hi", "transfer")] },
  });
  assert.equal(await talk.closed(), 1000);
  assert.equal(talk.messages.length, 1);
  const [refused] = talk.messages;
  assert.ok(refused?.type === "invalid");
  assert.deepEqual(refused.errors.map(({ field }) => field).toSorted(), [
    "greeting",
    "rules.0.keywords.0",
    "rules.0.then",
    "voices",
  ]);
  for (const message of ["", "{", "[]", '{"type":"key","key":"1"}']) {
    const odd = await connect();
    odd.socket.send(message);
    assert.equal(await odd.closed(), 1000);
    assert.equal(odd.messages[0]!.type, "invalid");
  }
});

test("an AI agent that cannot be set up says why", async () => {
  speech.setBroken(true);
  const talk = await connect();
  talk.send({ type: "start", agent: { ...agent, greeting: "Never synthesized before" } });
  assert.equal(await talk.closed(), 1000);
  speech.setBroken(false);
  assert.deepEqual(talk.messages, [
    { type: "unavailable", reason: "a text could not be synthesized: the synthesizer is broken" },
  ]);
});

test("a handshake needs a token with the permission, and a session's comes from our pages", async () => {
  const refuses = (options: ClientOptions, status: number) =>
    assert.rejects(connect(options), { message: `Unexpected server response: ${status}` });
  await refuses({}, 401);
  await refuses(bearer("trk_1_1_wrong"), 401);
  await refuses(bearer(await makeAgentToken(api.app, account, ["voice.campaigns.create"])), 403);
  const cookie = await api.app.db.query.transaction().execute((tx) =>
    createSession(
      tx,
      {
        account_id: account.account_id,
        user_id: account.owner_id,
        request_id: "test",
        address: "127.0.0.1",
        user_agent: "test",
      },
      api.clock.now(),
    ),
  );
  const headers = { cookie: `__Host-trunkline=${cookie}` };
  await refuses({ headers }, 403);
  await refuses({ headers, origin: "http://127.0.0.1:1" }, 403);
  await refuses({ ...bearer(account.token), origin: "https://hostile.example" }, 403);
  for (const origin of [api.url, "https://trunkline.example"]) {
    const talk = await connect({ headers, origin });
    talk.socket.terminate();
  }
  const { status, body } = await api.send("GET", path, { token: account.token });
  assert.deepEqual([status, body.type], [400, "bad-request"]);
});

test("other upgrades are ignored, and a WebSocket to another path is answered as a request", async () => {
  const { token } = account;
  const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "" };
  const response = await fetch(`${api.url}/api/v1/account`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  }).catch(() => null);
  assert.ok(response === null || response.status === 200);
  for (const [other, status] of [
    ["/api/v1/account", 200],
    ["/api/v1/nothing", 404],
  ] as const) {
    const socket = new WebSocket(api.url.replace("http", "ws") + other, bearer(token));
    const [error] = (await once(socket, "error")) as [Error];
    assert.equal(error.message, `Unexpected server response: ${status}`);
  }
});

test("a revoked token ends its talk", async () => {
  const token = await makeToken(api.app, account);
  const id = token.split("_")[2]!;
  const talk = await connect(bearer(token));
  talk.send({ type: "start", agent });
  await eventually(() => said(talk, "agent").length > 0);
  await api.send("POST", `/api/v1/tokens/${id}/revoke`, { token: account.token });
  assert.equal(await talk.closed(), 1008);
});

test("audio faster than anybody speaks, and messages that are none, end the talk", async () => {
  const fast = await begin();
  fast.socket.send(silence(30_000));
  assert.equal(await fast.closed(), 1008);
  const odd = await begin();
  odd.send({ type: "key", key: "12" });
  assert.equal(await odd.closed(), 1008);
});

test("an account has three talks at once, and its others do not lack them", async () => {
  const own = await makeAccount(api.app);
  const talks = await Promise.all([1, 2, 3].map(() => connect(bearer(own.token))));
  await assert.rejects(connect(bearer(own.token)), { message: "Unexpected server response: 429" });
  const other = await begin();
  other.socket.close();
  for (const { socket } of talks) socket.close();
  await eventually(async () => {
    const talk = await connect(bearer(own.token)).catch(() => null);
    talk?.socket.close();
    return talk !== null;
  });
});
