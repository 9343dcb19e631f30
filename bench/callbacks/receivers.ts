// Where callbacks arrive, in a process of its own: ten servers that answer at once, of which the last
// can be told to hang.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { answerOrders, type Figures } from "../lib/child.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";

const count = Number(process.env["ENDPOINTS"]);
let hangs = false;
let seen = new Set<string>();
let first_ms = 0;
let last_ms = 0;

const servers = await Promise.all(Array.from({ length: count }, (_, i) => startServer(i)));

/** `hang`: begins anew, with the last one hanging or not. Without it: what came since. */
answerOrders(async ({ hang }) => {
  if (hang === undefined) return { distinct: seen.size, first_ms, last_ms };
  hangs = hang === 1;
  seen = new Set();
  // What hung until now ends.
  servers.at(-1)!.closeAllConnections();
  const ports = servers.map((server, i) => [`port_${i}`, (server.address() as AddressInfo).port]);
  return Object.fromEntries(ports) as Figures;
});

async function startServer(i: number): Promise<Server> {
  const server = createServer((request, response) => {
    if (hangs && i === count - 1) return;
    request.resume().on("end", () => {
      response.writeHead(204).end();
      last_ms = machineTime_ms();
      if (seen.size === 0) first_ms = last_ms;
      seen.add(`${i} ${request.headers["webhook-id"] as string}`);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}
