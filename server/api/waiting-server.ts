// Answers for the API while the service waits for its database or migrates it: alive, and not ready.
import { once } from "node:events";
import { createServer } from "node:http";
import { unavailable } from "../lib/errors.ts";
import { nextRequestId } from "./checks/next-request-id.ts";
import { emptyWindow, rateHeaders } from "./checks/rate-limit.ts";
import { renderProblem } from "./checks/render-error.ts";
import type { Route } from "./route.ts";
import { routes } from "./routes.ts";

export type WaitingServer = { close(): Promise<void> };

/** Listens and answers every request with 503, but `/health/live` with 200. Throws if it cannot listen. */
export async function openWaitingServer(address: {
  readonly host: string;
  readonly port: number;
}): Promise<WaitingServer> {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/[?].*$/, "").replace(/[/]$/, "");
    if (path === "/health/live") {
      return response
        .writeHead(200, { "content-type": "application/json", connection: "close" })
        .end(JSON.stringify({ status: "ok" }));
    }
    const refusal = unavailable(new Error("the service waits for its database or its migrations"));
    const { renderError = renderProblem, rate_limit } = routeOf(path, request.method) ?? {};
    const request_id = nextRequestId();
    const { status, contentType, body } = renderError(refusal, request_id);
    return response
      .writeHead(status, {
        ...refusal.headers,
        ...(rate_limit ? rateHeaders(emptyWindow(rate_limit)) : {}),
        "x-request-id": request_id,
        "content-type": contentType,
        connection: "close",
      })
      .end(JSON.stringify(body));
  });
  server.listen(address);
  await once(server, "listening");
  return {
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function routeOf(path: string | undefined, method: string | undefined): Route | undefined {
  const found = routes.filter(({ url }) => url === path);
  return found.find((route) => route.method === method) ?? found[0];
}
