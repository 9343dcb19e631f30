// The limit: an ARI client that dials, plays the recording and hangs up as the events come, as many
// calls at once as may be, and keeps nothing. Whatever does not come about ends it, with what it was.
import { once } from "node:events";
import { Pool } from "undici";
import { WebSocket } from "ws";
import { customerOf, trunk } from "../calls/fixture.ts";
import { answerOrders, type Figures } from "../lib/child.ts";

const app = "bare";
const connections = 64;
const ring_seconds = 30;
/** Of one request, and of a connection. */
const answer_ms = 20_000;
/** Of a run, which takes half a minute. */
const patience_ms = 180_000;
/** Below Asterisk's `session_inactivity`, as ours. */
const keep_alive_ms = 4_000;
const { origin } = new URL(process.env["ARI_URL"]!);
const played = new URLSearchParams({ media: `sound:${process.env["CLIP"]}` }).toString();
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

type Heard = {
  readonly type: string;
  readonly channel?: { readonly id: string };
  readonly playback?: { readonly target_uri: string; readonly state: string };
};

type Run = {
  readonly number: number;
  /** What each call that is not over did last. */
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
    throw new Error(`${method} ${path} was answered ${answer.statusCode}`);
}

function dial(id: string, i: number): Promise<void> {
  const endpoint = `PJSIP/91${customerOf(i)}@${trunk.endpoint}`;
  const asked = { endpoint, app, callerId: trunk.caller_id, timeout: String(ring_seconds) };
  return request("POST", `/channels/${id}?${new URLSearchParams(asked).toString()}`, {
    variables: { CALL_ID: id },
  });
}

async function hear(run: Run, { type, channel, playback }: Heard): Promise<void> {
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
    hear(run, JSON.parse(data.toString()) as Heard).catch(run.fail);
  });
  await once(socket, "open");
  socket.on("close", () => run.fail(new Error("Asterisk ended the connection")));
  const allowed = wanted.map((type) => ({ type }));
  await request("PUT", `/applications/${app}/eventFilter`, { allowed });
  return socket;
}

/** `count` calls from the `first` customer on, `in_flight` at once. */
answerOrders(async ({ count = 0, first = 0, in_flight = 0 }: Figures) => {
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
      calls.set(id, "dialled");
      dial(id, i).catch(run.fail);
    },
    fail: done.reject,
  };
  const timer = setTimeout(() => {
    const left = JSON.stringify(Object.fromEntries(calls));
    run.fail(new Error(`${calls.size} calls are not over after ${patience_ms} ms: ${left}`));
  }, patience_ms);
  const socket = await connect(run);
  for (let i = 0; i < in_flight; i++) run.begin();
  await done.promise;
  clearTimeout(timer);
  socket.close();
  await once(socket, "close");
  return {};
});
