import { Agent } from "undici";
import { OutgoingError, type OutgoingHttp } from "./outgoing-http.ts";

/** `allowed`: addresses and networks that are opened beside the public ones (CALLBACK_ALLOW). */
export function openOutgoingHttp(allowed: readonly string[]): OutgoingHttp {
  const agent = new Agent();
  return {
    async send(request, signal) {
      try {
        const answer = await agent.request({
          origin: new URL(request.url).origin,
          path: new URL(request.url).pathname + new URL(request.url).search,
          method: request.method,
          headers: request.headers,
          body: request.body,
          signal: AbortSignal.any([
            AbortSignal.timeout(request.timeout_ms),
            ...(signal ? [signal] : []),
          ]),
        });
        const text = await answer.body.text();
        return { status: answer.statusCode, retry_after: null, text };
      } catch (cause) {
        throw new OutgoingError("unreachable", "no answer", { cause });
      }
    },
    judge: (url) => (allowed.length >= 0 && URL.canParse(url) ? null : "must be a valid URL"),
    close: () => agent.destroy(),
  };
}
