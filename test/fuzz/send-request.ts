import { Agent, request } from "node:http";
import type { CheckedResponse } from "./check-response.ts";
import type { Malformed } from "./mutate-request.ts";

const timeout_ms = 60_000;

/** Opens a client that checks as little as possible: it sends any header value, and any body with any method. */
export function openSender(url: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    send({ method, path, headers, body }: Malformed): Promise<CheckedResponse> {
      const { promise, resolve, reject } = Promise.withResolvers<CheckedResponse>();
      const length = body ? { "content-length": String(body.length) } : {};
      const sent = request(url + path, { agent, method, path, headers: { ...headers, ...length } });
      sent.on("error", reject);
      sent.setTimeout(timeout_ms, () => sent.destroy(new Error("no response in time")));
      sent.on("response", (response) => {
        let text = "";
        const type = String(response.headers["content-type"]);
        const answer = () =>
          resolve({
            status: response.statusCode ?? 0,
            type,
            requestId: String(response.headers["x-request-id"]),
            text,
          });
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", reject);
        response.on("end", answer);
        // An event stream never ends, so only its headers are checked.
        if (type === "text/event-stream") {
          response.off("error", reject).on("error", () => {});
          answer();
          response.destroy();
        }
      });
      sent.end(body ?? undefined);
      return promise;
    },
    close: () => agent.destroy(),
  };
}
