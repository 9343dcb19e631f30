// Puts the list of routes on the server, each with its checks in the contract's order:
// 401 → rate limit → 403 → body parsed → replay of a known key → what outranks the shape → shape → handler.
import { METHODS } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import type { TSchema } from "typebox";
import type { Tx } from "../lib/database/database.ts";
import { Refusal, invalid, notFound } from "../lib/errors.ts";
import { unstorable } from "../lib/json-body.ts";
import type { ApiApp } from "./api-app.ts";
import { guard, guardAgain } from "./authenticate.ts";
import { compileValidator } from "./compile-validator.ts";
import { fieldErrors } from "./field-errors.ts";
import {
  findStoredAnswer,
  keyedRequest,
  readKey,
  sendStored,
  type Idempotency,
} from "./idempotency.ts";
import { openLargeBodies } from "./large-bodies.ts";
import { openApiSchema } from "./openapi.ts";
import type { RateCounter } from "./rate-limit.ts";
import { otherMediaType } from "./render-error.ts";
import type { Call, Route } from "./route.ts";
import type { Begin, Transactions } from "./transactions.ts";

/** What every route's writes go through. */
type Writing = { readonly idempotency: Idempotency; readonly transactions: Transactions };
type Shared = Writing & { readonly counter: RateCounter };

export function registerRoutes(
  server: FastifyInstance,
  app: ApiApp,
  shared: Shared,
  routes: readonly Route[],
): void {
  const holdLargeBody = openLargeBodies();
  for (const route of routes) {
    const status = successStatus(route);
    const integersOfQuery = integersOf(route.query);
    const integersOfPath = integersOf(route.params);
    const callOf = callMaker(app, shared, route);
    server.route({
      method: route.method,
      url: route.url,
      schema: openApiSchema(route),
      ...(route.body_bytes_max
        ? { bodyLimit: route.body_bytes_max, preParsing: unlessUpload(holdLargeBody) }
        : {}),
      config: {
        ...(route.renderError ? { renderError: route.renderError } : {}),
        ...(route.raw_body ? { rawBody: true } : {}),
        ...(route.malformed_type ? { malformedType: route.malformed_type } : {}),
        ...(route.rate_limit ? { rateLimit: route.rate_limit } : {}),
        ...(route.endless ? { endless: true } : {}),
      },
      ...guardOf(app, shared.counter, route),
      ...(route.multipart || route.form || route.raw_body ? { validatorCompiler: skipBody } : {}),
      // A failed shape is told by the handler, after what outranks it and with what validate finds.
      attachValidation: true,
      preValidation: async (request, reply) => {
        // The multipart parser serves every route.
        if (!route.multipart && !route.form && request.isMultipart()) throw otherMediaType(request);
        refuseOddQuery(integersOfQuery, request);
        if (await replay(app, route, request, reply)) return reply;
        refuseOddPath(integersOfPath, request);
      },
      handler: async (request, reply) => {
        const call = callOf(request, reply);
        const validateAndHandle = async () => {
          await refuseInvalid(route, call, request);
          return route.handle(call);
        };
        const answer = await validateAndHandle().catch((error: unknown) =>
          orTwinsAnswer(app, request, error),
        );
        if (reply.sent) return reply;
        if (request.stored) return sendStored(request.stored, reply);
        return reply.code(status).send(answer);
      },
    });
  }
  refuseOtherMethods(server, routes);
}

function guardOf(app: ApiApp, counter: RateCounter, { access, rate_limit }: Route) {
  return access === "public" ? {} : { onRequest: guard(app, counter, { access, rate_limit }) };
}

/** An upload is never held in memory, and its route bounds how many come at once. */
function unlessUpload(hook: (request: FastifyRequest, reply: FastifyReply) => Promise<void>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const isUpload = /^multipart\//i.test(request.headers["content-type"] ?? "");
    if (!isUpload) await hook(request, reply);
  };
}

/** A body that its route reads by itself is validated there; its schema documents it. */
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
  const validated = (await route.validate?.(call)) ?? [];
  const failing = new Set(shape.map(({ field }) => field));
  const violations = [...shape, ...validated.filter(({ field }) => !failing.has(field))];
  if (violations.length > 0) throw invalid(violations);
}

function successStatus(route: Route): number {
  return Number(Object.keys(route.success)[0]);
}

function callMaker(app: ApiApp, { idempotency, transactions }: Writing, route: Route) {
  const status = successStatus(route);
  return (request: FastifyRequest, reply: FastifyReply) => {
    const caller = request.caller;
    const once = async <With extends unknown[], Answer>(
      begin: Begin<With>,
      effect: (tx: Tx, ...beside: With) => Promise<Answer>,
    ): Promise<Answer> => {
      if (!request.keyed) return begin(effect);
      const serialize = reply.getSerializationFunction(String(status)) ?? JSON.stringify;
      request.stored = await idempotency.once(request.keyed, status, begin, async (...open) =>
        serialize({ ...(await effect(...open)) }),
      );
      return JSON.parse(request.stored.response) as Answer;
    };
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
      mayStill: async () => {
        if (route.access !== "public") await guardAgain(app, request, route.access);
      },
      write: (effect) => {
        const { plain, keyed } = transactions;
        return once(request.keyed ? keyed(caller!.account.id) : plain, effect);
      },
      writeWithClient: (statement_seconds, effect) =>
        once(transactions.long(caller!.account.id, statement_seconds), effect),
      keyedBy: (sha256) => findReplay(app, route, request, sha256.toString("hex")),
    } as Call<never, never, never>;
  };
}

/** Query strings reach the database as they are; and "1e999" would be coerced to a number without end. */
function refuseOddQuery(integers: ReadonlySet<string>, request: FastifyRequest): void {
  const violations = Object.entries(request.query as Record<string, unknown>).flatMap(
    ([field, value]) => {
      const text = [value].flat().join();
      const isOdd = integers.has(field) && !/^-?\d{1,19}$/.test(text);
      const reason = isOdd ? "must be an integer" : unstorable(text);
      return reason ? [{ field, reason }] : [];
    },
  );
  if (violations.length > 0) throw invalid(violations);
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

/** Before validation turns the path's text into numbers: a repeated key compares equal. */
async function replay(
  app: ApiApp,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  if (route.method === "GET" || !request.caller) return false;
  if (route.multipart || request.isMultipart()) {
    // The upload has not arrived: see keyedBy.
    if (route.key_required) readKey(request, true);
    return false;
  }
  const asked = route.digest ? await digestOf(route.digest, request) : request.body;
  if (!(await findReplay(app, route, request, asked))) return false;
  sendStored(request.stored!, reply);
  return true;
}

/** What the first request under the key used up, or changed, must not refuse its twin: that gets its answer. */
async function orTwinsAnswer(app: ApiApp, request: FastifyRequest, error: unknown): Promise<void> {
  if (!(error instanceof Refusal) || !request.keyed) throw error;
  request.stored = await findStoredAnswer(app.db, request.keyed);
  if (!request.stored) throw error;
}

async function digestOf(
  digest: NonNullable<Route["digest"]>,
  request: FastifyRequest,
): Promise<string | undefined> {
  try {
    return (await digest(request)).toString("hex");
  } catch (error) {
    const isShape = error instanceof Refusal && error.type === "validation-failed";
    if (!isShape) throw error;
    request.bodyRefusal = error;
    return undefined;
  }
}

/** Keeps the request's key and the answer stored under it, and tells whether there is one. */
async function findReplay(
  app: ApiApp,
  route: Route,
  request: FastifyRequest,
  asked: unknown,
): Promise<boolean> {
  const key = readKey(request, route.key_required === true);
  if (key === null) return false;
  const named = { account_id: request.caller!.account.id, endpoint: route.id, key };
  request.keyed = keyedRequest(request, named, asked);
  request.stored = await findStoredAnswer(app.db, request.keyed);
  return request.stored !== null;
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
  // Node knows rarer ones, too; where errors have a shape of their own, a 404 of the server's would not.
  const every_method = METHODS.filter((method) => method !== "CONNECT");
  for (const method of every_method)
    if (!server.supportedMethods.includes(method)) server.addHttpMethod(method, { hasBody: true });
  const byUrl = Map.groupBy(routes, (route) => route.url);
  for (const [url, here] of byUrl) {
    const allowed = new Set<HTTPMethods>(here.map((route) => route.method));
    if (allowed.has("GET")) allowed.add("HEAD");
    const renderError = here.find((route) => route.renderError)?.renderError;
    const rateLimit = here.find((route) => route.rate_limit)?.rate_limit;
    server.route({
      method: (renderError ? every_method : all_methods).filter((method) => !allowed.has(method)),
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
