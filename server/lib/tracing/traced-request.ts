import { currentTracing, traced, type OpenSpan, type SpanAttributes } from "./tracing.ts";

/** An outgoing request. Its path and query are not recorded: they contain phone numbers, and secrets of users. */
export type TracedRequest = {
  readonly method: string;
  /** The URL; only its host and port are recorded. */
  readonly url: string;
  /** The path without IDs, if it is known to contain no personal data. */
  readonly template?: string;
};

/**
 * Runs `send` in a client span, with a function that takes the status of the response. Outside a span, as in polls, it
 * just runs. The receiver gets no trace headers (docs/decisions/2026-11-26-traces.md).
 */
export function tracedRequest<T>(
  request: TracedRequest,
  send: (onStatus: (status: number) => void) => Promise<T>,
): Promise<T> {
  if (!currentTracing()?.active()) return send(ignore);
  const { method, template } = request;
  const { hostname, port, protocol } = new URL(request.url);
  const attributes = {
    "http.request.method": method,
    "server.address": hostname,
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
    "url.template": template,
  };
  const name = template === undefined ? method : `${method} ${template}`;
  return traced(name, { kind: "client", attributes }, (span) =>
    send((status) => {
      span?.set({ "http.response.status_code": status });
      if (status >= 400) span?.fail(String(status));
    }),
  );
}

/** Runs a call to another system that is not an HTTP request in a client span; outside a span, just runs it. */
export function tracedCall<T>(
  name: string,
  attributes: SpanAttributes,
  call: (span: OpenSpan | null) => Promise<T>,
): Promise<T> {
  if (!currentTracing()?.active()) return call(null);
  return traced(name, { kind: "client", attributes }, call);
}

/** Replaces all parts of a path but words with `{id}`, and drops the query. */
export function pathTemplate(path: string): string {
  return path.replace(/\?.*/s, "").replaceAll(/\/(?![a-z_]{2,32}(?:\/|$))[^/]*/gi, "/{id}");
}

function ignore(): void {}
