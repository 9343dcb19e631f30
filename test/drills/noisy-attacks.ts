// The attacks of the noisy-neighbor drill, in a thread of their own, so that they do not delay the measurement.
// They come from 127.0.0.2, and each has a fixed rate.
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

export type AttackName =
  | "descriptions"
  | "stalled bodies"
  | "invalid bodies"
  | "unknown tokens"
  | "sign-ins"
  | "long work";

export type AttackData = {
  readonly attack: AttackName;
  readonly port: number;
  /** Of the attacking account. */
  readonly token: string;
  readonly workspace_id: number;
};

const { attack, port, token, workspace_id } = workerData as AttackData;
const from = { host: "127.0.0.1", port, localAddress: "127.0.0.2" };
const in_flight_max = 200;
let inFlight = 0;
const statuses = new Map<string, number>();

const count = (status: string) => statuses.set(status, (statuses.get(status) ?? 0) + 1);

/** Sends a request and reads its response; does nothing while too many are in flight. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<void> {
  if (inFlight >= in_flight_max) return Promise.resolve();
  inFlight++;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (status: string) => {
    inFlight--;
    count(status);
    resolve();
  };
  const sent = request({ ...from, method, path, headers, agent: false }, (response) => {
    response.resume().once("close", () => end(String(response.statusCode)));
  });
  sent.once("error", () => end("broken"));
  sent.end(body);
  return promise;
}

const bearer = (of: string) => ({ authorization: `Bearer ${of}` });
const json = { ...bearer(token), "content-type": "application/json" };
const post = (path: string, body: unknown) =>
  send("POST", `/api/v1${path}`, json, JSON.stringify(body));

function repeat(a_second: number, work: () => void): void {
  setInterval(work, 1_000 / a_second);
  work();
}

/** Sends the beginning of a body and then nothing, or a byte every 100 ms; starts again when it is cut off. */
function stall(head: string, trickles: boolean): void {
  const socket = connect(from);
  const timer = setInterval(() => trickles && socket.writable && socket.write("a"), 100);
  socket.on("error", () => {});
  socket.resume().once("close", () => {
    clearInterval(timer);
    count("cut off");
    setTimeout(() => stall(head, trickles), 200);
  });
  socket.write(`${head}\r\n\r\n`);
  if (!trickles) socket.write(Buffer.alloc(65_536, "a"));
}

const head = (path: string, headers: readonly string[]) =>
  [`POST ${path} HTTP/1.1`, "host: 127.0.0.1", ...headers].join("\r\n");

function stallBodies(): void {
  const webhook = head("/hooks/whatsapp", [
    "content-type: application/json",
    "content-length: 3000000",
  ]);
  for (let i = 0; i < 300; i++) stall(webhook, false);
  for (let i = 0; i < 6; i++) stall(webhook, true);
  const upload = head(`/api/v1/crm/workspaces/${workspace_id}/leads/import`, [
    `authorization: Bearer ${token}`,
    "content-type: multipart/form-data; boundary=b",
    "content-length: 3000000",
  ]);
  for (let i = 0; i < 9; i++) stall(upload, true);
}

/** A body of a megabyte, every field of which is invalid. */
function invalidBody(): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`unknown${i}`, i])),
  );
}

async function addWork(): Promise<void> {
  for (let i = 0; i < 20; i++)
    await post("/erasures", { phone_number: `+9198765432${String(i).padStart(2, "0")}` });
  const rows = "phone\n" + "9876543210\n".repeat(5_000);
  const part = (name: string, more: string, text: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`;
  const body = `${part("columnMap", "", '{"phone":"phone"}')}${part("file", '; filename="a.csv"', rows)}--b--\r\n`;
  const headers = { ...bearer(token), "content-type": "multipart/form-data; boundary=b" };
  const path = `/api/v1/crm/workspaces/${workspace_id}/leads/import`;
  for (let i = 0; i < 6; i++) await send("POST", path, headers, body);
  for (let i = 0; i < 12; i++)
    await post("/voice/files", { name: `text ${i}`, text: `A long text, number ${i}` });
}

const attacks: Readonly<Record<AttackName, () => void | Promise<void>>> = {
  descriptions: () =>
    repeat(100, () => void send("GET", "/openapi.json", { "accept-encoding": "gzip" })),
  "stalled bodies": stallBodies,
  "invalid bodies": () => {
    const body = invalidBody();
    const path = `/api/v1/crm/workspaces/${workspace_id}/leads/create`;
    repeat(4, () => void send("POST", path, json, body));
  },
  "unknown tokens": () =>
    repeat(300, () => {
      const unknown = `trk_${1_000_000 + Math.floor(Math.random() * 1_000_000)}_1_${randomBytes(32).toString("hex")}`;
      void send("GET", "/api/v1/account", bearer(unknown));
    }),
  "sign-ins": () => {
    const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    repeat(300, () => {
      const email = `${randomBytes(8).toString("hex")}@test.example`;
      void send("POST", "/api/v1/session", headers, JSON.stringify({ email, password: "guess" }));
    });
  },
  "long work": addWork,
};

const report = (message: unknown) =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread
  parentPort!.postMessage(message);
parentPort!.on("message", () => report(Object.fromEntries(statuses)));
await attacks[attack]();
report("started");
