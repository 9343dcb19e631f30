// The upper limit: an ARI client that creates the same legs, ringback, bridge and hangups, with the maximum
// of concurrent calls, and stores nothing.
import { once } from "node:events";
import { Pool } from "undici";
import { WebSocket } from "ws";
import { agent, customerOf, trunk } from "../calls/fixture.ts";
import { serveCommands, type Figures } from "../lib/child.ts";

const app = "bare";
const connections = 64;
const ring_seconds = 30;
/** Far above the duration of a run, half a minute. */
const timeout_ms = 180_000;
const { origin } = new URL(process.env["ARI_URL"]!);
const login = `${process.env["ARI_USER"]}:${process.env["ARI_PASSWORD"]}`;
const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
const pool = new Pool(origin, { connections, pipelining: 1 });
const wanted = ["StasisStart", "ChannelDestroyed"];

let run = 0;
/** Called when a call of the run has ended. */
let onCallEnded: () => void = () => {};
let recorded = false;

async function request(method: "POST" | "PUT" | "DELETE", path: string, body?: object) {
  const headers = { authorization, "content-type": "application/json" };
  const sent = body ? JSON.stringify(body) : null;
  const answer = await pool.request({ method, path: `/ari${path}`, headers, body: sent });
  await answer.body.dump();
  if (answer.statusCode >= 300 && answer.statusCode !== 404)
    throw new Error(`${method} ${path} got status ${answer.statusCode}`);
}

function dial(i: number, leg: "a" | "c", endpoint: string, callerId: string): Promise<void> {
  const parameters = { endpoint, app, callerId, timeout: String(ring_seconds) };
  const query = new URLSearchParams(parameters).toString();
  const variables = { CALL_ID: `${run}-${i}` };
  return request("POST", `/channels/${leg}-${run}-${i}_?${query}`, { variables });
}

/** Dials the customer and plays ringback to the agent. */
async function agentAnswered(name: string, i: number): Promise<void> {
  await Promise.all([
    request("POST", `/channels/a-${name}_/play/r-${name}?media=tone:ring;tonezone=in`),
    dial(i, "c", `PJSIP/91${customerOf(i)}@${trunk.endpoint}`, trunk.caller_id),
  ]);
}

async function customerAnswered(name: string): Promise<void> {
  await Promise.all([
    request("DELETE", `/playbacks/r-${name}`),
    request("POST", `/bridges/b-${name}_?type=mixing,dtmf_events`),
  ]);
  await request("POST", `/bridges/b-${name}_/addChannel?channel=a-${name}_,c-${name}_`);
  if (recorded) await request("POST", `/bridges/b-${name}_/record?name=${name}&format=wav`);
}

async function customerHungUp(name: string): Promise<void> {
  await request("DELETE", `/channels/a-${name}_`);
  await request("DELETE", `/bridges/b-${name}_`);
}

async function handleEvent(event: { type: string; channel: { id: string } }): Promise<void> {
  const [, leg, name = "", i] = /^([ac])-(\d+-(\d+))_$/.exec(event.channel.id) ?? [];
  if (event.type === "StasisStart")
    return leg === "a" ? agentAnswered(name, Number(i)) : customerAnswered(name);
  if (leg === "c") return customerHungUp(name);
  onCallEnded();
}

async function connect(): Promise<WebSocket> {
  const address = `${origin.replace("http", "ws")}/ari/events?app=${app}&subscribeAll=true`;
  const socket = new WebSocket(address, { headers: { authorization }, perMessageDeflate: false });
  socket.on("message", (data: Buffer) => void handleEvent(JSON.parse(data.toString()) as never));
  await once(socket, "open");
  const allowed = wanted.map((type) => ({ type }));
  await request("PUT", `/applications/${app}/eventFilter`, { allowed });
  return socket;
}

/** Places `count` calls from customer `first` on, `in_flight` at once, `recorded` or not. */
serveCommands(async ({ count = 0, first = 0, in_flight = 0, recorded: wants = 0 }: Figures) => {
  run++;
  recorded = wants === 1;
  const socket = await connect();
  let next = first;
  let left = count;
  const done = Promise.withResolvers<void>();
  const begin = () => {
    const i = next++;
    if (i < first + count) void dial(i, "a", `PJSIP/${agent.endpoint}`, trunk.caller_id);
  };
  onCallEnded = () => {
    left--;
    if (left === 0) done.resolve();
    else begin();
  };
  const giveUp = () =>
    done.reject(new Error(`${left} calls have not ended after ${timeout_ms} ms`));
  const timer = setTimeout(giveUp, timeout_ms);
  for (let i = 0; i < in_flight; i++) begin();
  await done.promise;
  clearTimeout(timer);
  socket.close();
  await once(socket, "close");
  return {};
});
