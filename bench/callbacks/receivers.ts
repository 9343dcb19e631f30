// The receivers of the callbacks, as a separate process: ten servers that respond at once; the last one can
// be made to hang.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serveCommands, type Figures } from "../lib/child.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";

const count = Number(process.env["ENDPOINTS"]);
let hangs = false;
let seen = new Set<string>();
let first_ms = 0;
let last_ms = 0;

const servers = await Promise.all(Array.from({ length: count }, (_, i) => startServer(i)));

/** `hang`: starts a new run, with the last server hanging or not. Without `hang`: returns the run's figures. */
serveCommands(async ({ hang }) => {
  if (hang === undefined) return { distinct: seen.size, first_ms, last_ms };
  hangs = hang === 1;
  seen = new Set();
  // Ends the hanging requests.
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
