// Registers the list of routes on the server, each with its checks in the contract's order: 401 → rate limit → 403 →
// body parsed → Idempotency-Key → replay → what outranks a 422 → schema and values → the handler.
import { METHODS } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import { Refusal } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import { guard } from "./checks/authenticate.ts";
import { compileValidator } from "./compile-validator.ts";
import { loadStoredResponse, openHandler, openPublicHandler } from "./checks/serve-request.ts";
import { sendStored } from "./checks/idempotency.ts";
import { openBodyHold } from "./bodies/hold-body.ts";
import type { Writing } from "./checks/request-context.ts";
import { openApiSchema } from "./openapi.ts";
import type { RateCounter } from "./checks/rate-limit.ts";
import type { RequestLimiter } from "./checks/request-limit.ts";
import { otherMediaType } from "./checks/render-error.ts";
import { successStatus, type Route } from "./route.ts";
import { integersOf, refuseOddPath, refuseOddQuery } from "./checks/validate-request.ts";

type Limits = { readonly counter: RateCounter; readonly limiter: RequestLimiter };
type Shared = Writing & Limits;

/** Registers every route, and a 405 for every other method of its path. */
export function registerRoutes(
  server: FastifyInstance,
  app: ApiApp,
  shared: Shared,
  routes: readonly Route[],
): void {
  const holdBody = openBodyHold();
  for (const route of routes) {
    const status = successStatus(route);
    const handle =
      route.access === "public"
        ? openPublicHandler(app, shared, route)
        : openHandler(app, shared, route);
    server.route({
      method: route.method,
      url: route.url,
      schema: openApiSchema(route),
      ...(route.body_bytes_max ? { bodyLimit: route.body_bytes_max } : {}),
      ...(route.method === "GET" ? {} : { preParsing: holdBody }),
      config: {
        ...(route.renderError ? { renderError: route.renderError } : {}),
        ...(route.raw_body ? { rawBody: true } : {}),
        ...(route.malformed_type ? { malformedType: route.malformed_type } : {}),
        ...(route.rate_limit ? { rateLimit: route.rate_limit } : {}),
        ...(route.endless ? { endless: true } : {}),
      },
      ...guardOf(app, shared, route),
      ...(route.multipart || route.form || route.raw_body ? { validatorCompiler: skipBody } : {}),
      // The handler reports violations: after what outranks them, and all at once.
      attachValidation: true,
      preValidation: checkBeforeCoercion(app, route),
      handler: async (request, reply) => {
        const answer = await handle(request, reply);
        if (reply.sent) return reply;
        if (request.stored) return sendStored(request.stored, reply);
        const chosen = reply.statusCode in route.success ? reply.statusCode : status;
        return reply.code(chosen).send(answer);
      },
    });
  }
  refuseOtherMethods(server, routes);
}

/** The checks before the body is read. */
function guardOf(app: ApiApp, limits: Limits, route: Route) {
  if (route.access !== "public") return { onRequest: guard(app, limits, route) };
  const { before_body } = route;
  return before_body
    ? { onRequest: async (request: FastifyRequest) => before_body(app, request) }
    : {};
}

/** The schema of a body that its route parses only documents it. */
function skipBody(part: { schema: object; httpPart?: string | undefined }) {
  return part.httpPart === "body" ? () => true : compileValidator(part);
}

/** The checks that need path and query as text, before validation coerces them: odd integers, repeated keys. */
function checkBeforeCoercion(app: ApiApp, route: Route) {
  const integersOfQuery = integersOf(route.query);
  const integersOfPath = integersOf(route.params);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // The multipart plugin parses uploads on every route.
    if (!route.multipart && !route.form && request.isMultipart()) throw otherMediaType(request);
    refuseOddQuery(integersOfQuery, request);
    if (await loadStoredResponse(app, route, request)) return sendStored(request.stored!, reply);
    refuseOddPath(integersOfPath, request);
    return undefined;
  };
}

const all_methods: readonly HTTPMethods[] = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
];

/** Answers other methods on an existing path with 405 and the allowed methods. */
function refuseOtherMethods(server: FastifyInstance, routes: readonly Route[]): void {
  // Also the rare methods of Node, where a route renders its errors or has a rate limit: the server's 404 has the
  // standard shape and no figures. On every path they would cost 0.3 s of each start.
  const every_method = METHODS.filter((method) => method !== "CONNECT");
  for (const method of every_method)
    if (!server.supportedMethods.includes(method)) server.addHttpMethod(method, { hasBody: true });
  const byUrl = Map.groupBy(routes, (route) => route.url);
  for (const [url, here] of byUrl) {
    const allowed = new Set<HTTPMethods>(here.map((route) => route.method));
    if (allowed.has("GET")) allowed.add("HEAD");
    const renderError = here.find((route) => route.renderError)?.renderError;
    const rateLimit = here.find((route) => route.rate_limit)?.rate_limit;
    const methods = renderError || rateLimit ? every_method : all_methods;
    server.route({
      method: methods.filter((method) => !allowed.has(method)),
      url,
      schema: { hide: true },
      config: { ...(renderError ? { renderError } : {}), ...(rateLimit ? { rateLimit } : {}) },
      onRequest: async (request) => {
        throw new Refusal("method-not-allowed", `${request.method} is not supported here`, {
          headers: { allow: [...allowed].join(", ") },
        });
      },
      handler: () => {},
    });
  }
}
