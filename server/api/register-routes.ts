// Puts the list of routes on the server, each with its checks in the contract's order:
// 401 → 403 → body parsed → replay of a known key → what outranks the shape → shape → handler.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import type { TSchema } from "typebox";
import type { Tx } from "../lib/database.ts";
import { Refusal, invalid, notFound } from "../lib/errors.ts";
import { unstorable } from "../lib/json-body.ts";
import type { ApiApp } from "./api-app.ts";
import { guard } from "./authenticate.ts";
import { compileValidator } from "./compile-validator.ts";
import { fieldErrors } from "./field-errors.ts";
import { findStoredAnswer, readKey, sendStored, type Idempotency } from "./idempotency.ts";
import { openApiSchema } from "./openapi.ts";
import { otherMediaType } from "./render-error.ts";
import type { Call, Route } from "./route.ts";

export function registerRoutes(
  server: FastifyInstance,
  app: ApiApp,
  idempotency: Idempotency,
  routes: readonly Route[],
): void {
  for (const route of routes) {
    const status = successStatus(route);
    const integersOfQuery = integersOf(route.query);
    const integersOfPath = integersOf(route.params);
    const callOf = callMaker(app, idempotency, route);
    server.route({
      method: route.method,
      url: route.url,
      schema: openApiSchema(route),
      ...(route.body_bytes_max ? { bodyLimit: route.body_bytes_max } : {}),
      config: {
        ...(route.renderError ? { renderError: route.renderError } : {}),
        ...(route.raw_body ? { rawBody: true } : {}),
      },
      ...(route.access === "public" ? {} : { onRequest: guard(app, route.access) }),
      ...(route.multipart ? { validatorCompiler: skipBody } : {}),
      // A failed shape is told by the handler, after what outranks it and with what judge finds.
      attachValidation: true,
      preValidation: async (request, reply) => {
        // The multipart parser serves every route.
        if (!route.multipart && request.isMultipart()) throw otherMediaType(request);
        refuseOddQuery(integersOfQuery, request);
        if (await replay(app, route, request, reply)) return reply;
        refuseOddPath(integersOfPath, request);
      },
      handler: async (request, reply) => {
        const call = callOf(request, reply);
        await refuseInvalid(route, call, request);
        const answer = await route.handle(call);
        if (reply.sent) return reply;
        if (request.stored) return sendStored(request.stored, reply);
        return reply.code(status).send(answer);
      },
    });
  }
  refuseOtherMethods(server, routes);
}

/** The body of a multipart route is judged part by part as it streams in; its schema documents it. */
function skipBody(part: { schema: object; httpPart?: string | undefined }) {
  return part.httpPart === "body" ? () => true : compileValidator(part);
}

async function refuseInvalid(
  route: Route,
  call: Call<never, never, never>,
  request: FastifyRequest,
): Promise<void> {
  const { validationError } = request;
  // A path that is not of the route's form names nothing that exists.
  if (validationError?.validationContext === "params") throw notFound();
  await route.before?.(call);
  if (request.bodyRefusal) throw request.bodyRefusal;
  const shape = validationError ? fieldErrors((validationError.validation ?? []) as unknown[]) : [];
  const judged = (await route.judge?.(call)) ?? [];
  const failing = new Set(shape.map(({ field }) => field));
  const faults = [...shape, ...judged.filter(({ field }) => !failing.has(field))];
  if (faults.length > 0) throw invalid(faults);
}

function successStatus(route: Route): number {
  return Number(Object.keys(route.success)[0]);
}

function callMaker(app: ApiApp, idempotency: Idempotency, route: Route) {
  const status = successStatus(route);
  return (request: FastifyRequest, reply: FastifyReply) => {
    const caller = request.caller;
    return {
      app,
      caller,
      actor: caller && {
        account_id: caller.account.id,
        user_id: caller.user_id,
        token_id: caller.token_id,
        request_id: request.id,
      },
      params: request.params,
      query: request.query,
      body: request.body,
      request,
      reply,
      keyed: request.keyed !== null,
      write: async <Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer> => {
        const { keyed } = request;
        if (!keyed) return app.db.query.transaction().execute(effect);
        const serialize = reply.getSerializationFunction(String(status)) ?? JSON.stringify;
        request.stored = await idempotency.once(keyed, status, async (tx) =>
          serialize({ ...(await effect(tx)) }),
        );
        return JSON.parse(request.stored.response) as Answer;
      },
    } as Call<never, never, never>;
  };
}

/** Query strings reach the database as they are; and "1e999" would be coerced to a number without end. */
function refuseOddQuery(integers: ReadonlySet<string>, request: FastifyRequest): void {
  const faults = Object.entries(request.query as Record<string, unknown>).flatMap(
    ([field, value]) => {
      const text = [value].flat().join();
      const isOdd = integers.has(field) && !/^-?\d{1,19}$/.test(text);
      const reason = isOdd ? "must be an integer" : unstorable(text);
      return reason ? [{ field, reason }] : [];
    },
  );
  if (faults.length > 0) throw invalid(faults);
}

/** Coercion would make ids of "1e1", "0x10" and " 10"; no path of ours is written so. */
function refuseOddPath(integers: ReadonlySet<string>, request: FastifyRequest): void {
  for (const [name, text] of Object.entries(request.params as Record<string, string>)) {
    if (integers.has(name) && !/^[1-9]\d{0,15}$/.test(text)) throw notFound();
  }
}

/** The names of a schema's integers. */
function integersOf(schema: TSchema | undefined): Set<string> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  return new Set(Object.keys(properties).filter((name) => properties[name]?.type === "integer"));
}

async function replay(
  app: ApiApp,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  if (route.method === "GET" || route.multipart || !request.caller) return false;
  // Read here, before validation turns the path's text into numbers: a repeated key compares equal.
  request.keyed = readKey(request, request.caller.account.id, route.id);
  const stored = request.keyed && (await findStoredAnswer(app.db, request.keyed));
  if (!stored) return false;
  sendStored(stored, reply);
  return true;
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

/** A path that exists answers other methods with 405 and what it allows. */
function refuseOtherMethods(server: FastifyInstance, routes: readonly Route[]): void {
  const byUrl = Map.groupBy(routes, (route) => route.url);
  for (const [url, here] of byUrl) {
    const allowed = new Set<HTTPMethods>(here.map((route) => route.method));
    if (allowed.has("GET")) allowed.add("HEAD");
    const renderError = here.find((route) => route.renderError)?.renderError;
    server.route({
      method: all_methods.filter((method) => !allowed.has(method)),
      url,
      schema: { hide: true },
      config: renderError ? { renderError } : {},
      onRequest: async (request) => {
        throw new Refusal("method-not-allowed", `${request.method} is not supported here`, {
          headers: { allow: [...allowed].join(", ") },
        });
      },
      handler: () => {},
    });
  }
}
