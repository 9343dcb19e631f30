// A server span for each request to a route of the API.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { currentTracing, type OpenSpan } from "../lib/tracing/tracing.ts";

/** Adds nothing when tracing is off. Add it before all other hooks, so that their log lines carry the trace. */
export function traceRequests(server: FastifyInstance): void {
  const tracing = currentTracing();
  if (tracing === null) return;
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  server.addHook("onRequest", (request, _, done) => {
    const { url: route, config } = request.routeOptions;
    // A stream would be a span of hours.
    if (route === undefined || config.endless || !/^\/(?:api|hooks)\//.test(route)) return done();
    const given = request.headers["traceparent"];
    const span = tracing.start(`${request.method} ${route}`, {
      kind: "server",
      parent: typeof given === "string" ? given : null,
      attributes: {
        "http.request.method": request.method,
        "http.route": route,
        "url.path": pathOf(route, request.params),
        "trunkline.request.id": request.id,
      },
    });
    spans.set(request, span);
    span.run(done);
  });
  // The body arrives in events of the connection, which are outside the span.
  server.addHook("preValidation", (request, _, done) => {
    const span = spans.get(request);
    if (span) span.run(done);
    else done();
  });
  server.addHook("onResponse", (request, reply, done) => {
    const span = spans.get(request);
    if (!span) return done();
    span.set({
      "http.response.status_code": reply.statusCode,
      "trunkline.account.id": request.caller?.account.id,
    });
    if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
    span.end();
    done();
  });
}

/** Fills in IDs only: other parameters, such as `:number`, are personal data. */
function pathOf(route: string, params: unknown): string {
  return route.replaceAll(/:(\w+)/g, (whole, name: string) => {
    const text = (params as Readonly<Record<string, string>>)[name] ?? "";
    return /^(?:id|\w+Id|\w+_id)$/.test(name) && /^\d{1,16}$/.test(text) ? text : whole;
  });
}
