// A stub of the switch with almost no cost: each leg rings, answers after 200 ms and reports events as
// Asterisk does; the customer hangs up a second later. It records when each call's first leg was requested.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { serveCommands } from "../lib/child.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";

const rings_after_ms = 10;
const answers_after_ms = 200;
const talk_ms = 1_000;
const normal_clearing = 16;

let times: Record<string, number> = {};
let socket: WebSocket | null = null;
const channels = new Map<string, { id: string; state: string }>();

function report(event: object): void {
  socket?.send(JSON.stringify(event));
}

function after(ms: number, id: string, then: (channel: { id: string; state: string }) => void) {
  setTimeout(() => {
    const channel = channels.get(id);
    if (channel) then(channel);
  }, ms);
}

function begin(id: string): void {
  const first = /^trk-\d+-(\d+)-1_/.exec(id)?.[1];
  if (first) times[`arrived ${first}`] = machineTime_ms();
  const peer = { id, state: "Down" };
  channels.set(id, peer);
  report({ type: "Dial", dialstatus: "", peer });
  after(rings_after_ms, id, (channel) => {
    channel.state = "Ringing";
    report({ type: "ChannelStateChange", channel });
  });
  after(answers_after_ms, id, (channel) => {
    channel.state = "Up";
    report({ type: "ChannelStateChange", channel });
    report({ type: "StasisStart", args: [], channel });
    if (first) return;
    after(talk_ms, id, (customer) => {
      report({ type: "ChannelHangupRequest", channel: customer, cause: normal_clearing });
      end(id);
    });
  });
}

function end(id: string): void {
  const channel = channels.get(id);
  if (!channels.delete(id)) return;
  report({
    type: "ChannelDestroyed",
    cause: normal_clearing,
    cause_txt: "Normal Clearing",
    channel,
  });
}

/** Returns status and body of the response; `rest` names a part of the channel or bridge. */
function answer(method: string, what: string, id: string, rest: string): [number, unknown] {
  if (rest) return [200, {}];
  if (what === "asterisk") return [200, { status: { startup_time: "2026-01-01T00:00:00" } }];
  if (method === "GET" && id) return [404, { message: "Not found" }];
  if (method === "GET") return [200, what === "channels" ? [...channels.values()] : []];
  if (what !== "channels") return [method === "DELETE" ? 204 : 200, {}];
  if (method === "DELETE") end(id);
  else if (!channels.has(id)) begin(id);
  return [method === "DELETE" ? 204 : 200, { id }];
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url!, "http://127.0.0.1");
  const [, , what = "", id = "", rest = ""] = pathname.split("/");
  request.resume();
  const [status, content] = answer(request.method!, what, id, rest);
  response.writeHead(status, { "content-type": "application/json" });
  response.end(status === 204 ? undefined : JSON.stringify(content));
});
server.keepAliveTimeout = 60_000;
const events = new WebSocketServer({ server });
events.on("connection", (opened) => (socket = opened));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
/** `times: 1`: returns the times recorded since the last such request, in ms; otherwise the port. */
serveCommands(async (command) => {
  if (!command["times"]) return { port };
  const recorded = times;
  times = {};
  return recorded;
});
