// The upper limit: an ARI client that dials, plays the audio and hangs up, with the maximum of concurrent
// calls, and stores nothing. Any failure ends the run with its reason.
import { once } from "node:events";
import { Pool } from "undici";
import { WebSocket } from "ws";
import { customerOf, trunk } from "../calls/fixture.ts";
import { serveCommands, type Figures } from "../lib/child.ts";

const app = "bare";
const connections = 64;
const ring_seconds = 30;
/** The time-out of a request and of a connection. */
const answer_ms = 20_000;
/** The time-out of a run, which takes half a minute. */
const timeout_ms = 180_000;
/** Below Asterisk's `session_inactivity`, as in our driver. */
const keep_alive_ms = 4_000;
const { origin } = new URL(process.env["ARI_URL"]!);
const played = new URLSearchParams({ media: `sound:${process.env["AUDIO"]}` }).toString();
const login = `${process.env["ARI_USER"]}:${process.env["ARI_PASSWORD"]}`;
const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
const pool = new Pool(origin, {
  connections,
  pipelining: 1,
  keepAliveTimeout: keep_alive_ms,
  headersTimeout: answer_ms,
  bodyTimeout: answer_ms,
});
const wanted = ["StasisStart", "PlaybackFinished", "ChannelDestroyed"];

type AriEvent = {
  readonly type: string;
  readonly channel?: { readonly id: string };
  readonly playback?: { readonly target_uri: string; readonly state: string };
};

type Run = {
  readonly number: number;
  /** The last event of each live call. */
  readonly calls: Map<string, string>;
  begin(): void;
  fail(error: unknown): void;
};

let runs = 0;

async function request(method: "POST" | "PUT" | "DELETE", path: string, body?: object) {
  const headers = { authorization, "content-type": "application/json" };
  const sent = body ? JSON.stringify(body) : null;
  const answer = await pool.request({ method, path: `/ari${path}`, headers, body: sent });
  await answer.body.dump();
  if (answer.statusCode >= 300 && answer.statusCode !== 404)
    throw new Error(`${method} ${path} got status ${answer.statusCode}`);
}

function dial(id: string, i: number): Promise<void> {
  const endpoint = `PJSIP/91${customerOf(i)}@${trunk.endpoint}`;
  const parameters = { endpoint, app, callerId: trunk.caller_id, timeout: String(ring_seconds) };
  return request("POST", `/channels/${id}?${new URLSearchParams(parameters).toString()}`, {
    variables: { CALL_ID: id },
  });
}

async function handleEvent(run: Run, { type, channel, playback }: AriEvent): Promise<void> {
  const id = channel?.id ?? playback?.target_uri.slice("channel:".length) ?? "";
  if (!run.calls.has(id)) return;
  run.calls.set(id, type);
  if (type === "StasisStart") return request("POST", `/channels/${id}/play/p-${id}?${played}`);
  if (type === "ChannelDestroyed") {
    run.calls.delete(id);
    return run.begin();
  }
  if (playback?.state !== "done") throw new Error(`a playback of ${id} is ${playback?.state}`);
  return request("DELETE", `/channels/${id}`);
}

async function connect(run: Run): Promise<WebSocket> {
  const address = `${origin.replace("http", "ws")}/ari/events?app=${app}&subscribeAll=true`;
  const socket = new WebSocket(address, {
    headers: { authorization },
    perMessageDeflate: false,
    handshakeTimeout: answer_ms,
  });
  socket.on("message", (data: Buffer) => {
    handleEvent(run, JSON.parse(data.toString()) as AriEvent).catch(run.fail);
  });
  await once(socket, "open");
  socket.on("close", () => run.fail(new Error("Asterisk closed the connection")));
  const allowed = wanted.map((type) => ({ type }));
  await request("PUT", `/applications/${app}/eventFilter`, { allowed });
  return socket;
}

/** Places `count` calls from customer `first` on, `in_flight` at once. */
serveCommands(async ({ count = 0, first = 0, in_flight = 0 }: Figures) => {
  runs++;
  const done = Promise.withResolvers<void>();
  let next = first;
  const calls = new Map<string, string>();
  const run: Run = {
    number: runs,
    calls,
    begin() {
      const i = next++;
      if (i >= first + count) {
        if (calls.size === 0) done.resolve();
        return;
      }
      const id = `v-${run.number}-${i}_`;
      calls.set(id, "dialed");
      dial(id, i).catch(run.fail);
    },
    fail: done.reject,
  };
  const timer = setTimeout(() => {
    const left = JSON.stringify(Object.fromEntries(calls));
    run.fail(new Error(`${calls.size} calls have not ended after ${timeout_ms} ms: ${left}`));
  }, timeout_ms);
  const socket = await connect(run);
  for (let i = 0; i < in_flight; i++) run.begin();
  await done.promise;
  clearTimeout(timer);
  socket.close();
  await once(socket, "close");
  return {};
});
