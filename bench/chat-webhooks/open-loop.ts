// Sends requests at scheduled times: a late response delays no later request, and its time counts from the
// scheduled time.
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

const connections = 128;
/** If the load process is later than this, the figures measure the process. */
const late_max_ms = 50;

type Connection = { readonly socket: Socket; began_ms: number };

/** Posts the file's webhooks to `url` at `rate` per second for `seconds`; returns the response times in ms. */
export async function postOpenLoop(
  url: string,
  file: string,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<number[]> {
  const requests = await readRequests(url, file);
  const idle: Connection[] = [];
  const due: { scheduled_ms: number; request: Buffer }[] = [];
  const times_ms: number[] = [];
  const send = (connection: Connection) => {
    const next = due.shift();
    if (!next) return void idle.push(connection);
    connection.began_ms = next.scheduled_ms;
    connection.socket.write(next.request);
  };
  const all = await Promise.all(
    Array.from({ length: connections }, () =>
      open(url, (connection, at_ms) => {
        times_ms.push(at_ms - connection.began_ms);
        send(connection);
      }),
    ),
  );
  idle.push(...all);
  const began_ms = performance.now();
  const total = Math.floor(rate * seconds);
  let scheduled = 0;
  while (scheduled < total) {
    const now_ms = performance.now();
    const until = Math.min(total, Math.floor(((now_ms - began_ms) * rate) / 1_000));
    for (; scheduled < until; scheduled++) {
      const scheduled_ms = began_ms + (scheduled * 1_000) / rate;
      due.push({ scheduled_ms, request: requests[scheduled % requests.length]! });
    }
    // Round-robin, because the server closes connections that are never used.
    while (due.length > 0 && idle.length > 0) send(idle.shift()!);
    await setTimeout(1);
    if (performance.now() - now_ms > late_max_ms) console.log("the load process was late");
  }
  while (times_ms.length < total) await setTimeout(5);
  for (const { socket } of all) socket.destroy();
  return times_ms;
}

async function open(
  url: string,
  answered: (connection: Connection, at_ms: number) => void,
): Promise<Connection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.setNoDelay(true);
  const connection = { socket, began_ms: 0 };
  // A response of this size arrives in one piece; any status except 200 ends the run.
  socket.on("data", (bytes: Buffer) => {
    if (!bytes.toString("latin1", 0, 12).endsWith(" 200"))
      throw new Error(`a webhook got: ${bytes.toString("latin1", 0, 300)}`);
    answered(connection, performance.now());
  });
  return connection;
}

async function readRequests(url: string, file: string): Promise<Buffer[]> {
  const requests: Buffer[] = [];
  for await (const line of createInterface(createReadStream(file))) {
    const space = line.indexOf(" ");
    const body = line.slice(space + 1);
    requests.push(
      Buffer.from(
        `POST /hooks/whatsapp HTTP/1.1\r\nhost: ${new URL(url).host}\r\n` +
          `x-hub-signature-256: ${line.slice(0, space)}\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      ),
    );
  }
  return requests;
}
