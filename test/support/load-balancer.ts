// A load balancer in front of API processes that start and stop, as in an upgrade.
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type LoadBalancer = {
  readonly url: string;
  /** Sends requests to a process that is ready, too. */
  add(url: string): void;
  /** Sends no further requests to the process; waits until it has answered those in flight. */
  remove(url: string): Promise<void>;
  /** Returns the requests that were answered with 5xx, or not at all. */
  failures(): readonly string[];
  close(): Promise<void>;
};

type Target = { readonly url: string; in_flight: number; onIdle: () => void };

/** Opens it on a free port; passes each request to the next process. */
export async function openLoadBalancer(): Promise<LoadBalancer> {
  let targets: Target[] = [];
  let passed = 0;
  const failures: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const target = targets[passed++ % targets.length];
    const fail = (reason: unknown) => {
      failures.push(`${incoming.method} ${incoming.url}: ${String(reason)}`);
      outgoing.destroy();
    };
    if (!target) return fail("no process is ready");
    target.in_flight++;
    outgoing.on("close", () => {
      if (--target.in_flight === 0) target.onIdle();
    });
    pass(incoming, outgoing, target, fail);
  });
  // Never closes an idle connection: a client may use it at that moment.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void targets.push({ url, in_flight: 0, onIdle: () => {} }),
    async remove(url) {
      const removed = targets.find((target) => target.url === url)!;
      targets = targets.filter((target) => target !== removed);
      if (removed.in_flight > 0)
        await new Promise<void>((resolve) => {
          removed.onIdle = resolve;
        });
    },
    failures: () => failures,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: Target,
  fail: (reason: unknown) => void,
): void {
  // A connection for each request: an idle one may be closed at the moment when it is used.
  const passed = request(new URL(incoming.url!, target.url), {
    agent: false,
    method: incoming.method!,
    headers: incoming.headers,
  });
  passed.on("response", (response) => {
    if (response.statusCode! >= 500) fail(response.statusCode);
    outgoing.writeHead(response.statusCode!, response.headers);
    response.pipe(outgoing);
    response.on("error", fail);
  });
  passed.on("error", fail);
  incoming.pipe(passed);
}
