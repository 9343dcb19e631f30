// Serves an authorized request: reads its body, looks up its Idempotency-Key, validates its fields and runs
// the handler of its route.
import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal } from "../../lib/errors.ts";
import type { ApiApp } from "../api-app.ts";
import { recheckWrite } from "./authenticate.ts";
import { findStoredResponse, keyedRequest, readKey } from "./idempotency.ts";
import { contextFactory, type Writing } from "./request-context.ts";
import type { GuardedRoute, ParsedBody, PublicContext, PublicRoute, Route } from "../route.ts";
import { validatePublicRequest, validateRequest } from "./validate-request.ts";

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Returns the handler of a route that needs no token. */
export function openPublicHandler(
  app: ApiApp,
  { accountReads }: Writing,
  route: PublicRoute,
): Handler {
  return async (request, reply) => {
    validatePublicRequest(request);
    const context: PublicContext<unknown> = {
      app,
      query: request.query,
      body: request.body,
      request,
      reply,
      noteWrite: accountReads.noteWrite,
    };
    return route.handle(context as PublicContext<never, never>);
  };
}

/** Returns the handler of a route that needs a token; it sets a stored response on the request. */
export function openHandler(app: ApiApp, writing: Writing, route: GuardedRoute): Handler {
  const contextOf = contextFactory(app, writing, route);
  const { accountReads } = writing;
  return async (request, reply) => {
    const account_id = request.caller!.account.id;
    const serveFrom = async (body: unknown, readsFrom = app) => {
      await recheckWrite(app, request, route);
      const context = contextOf(request, reply, body, readsFrom);
      await validateRequest(route, context);
      return route.handle(context);
    };
    const serve = async (body: unknown) => {
      if (route.from_replica)
        return accountReads.read(account_id, (readsFrom) => serveFrom(body, readsFrom));
      if (route.method === "GET") return serveFrom(body);
      try {
        return await serveFrom(body);
      } finally {
        await accountReads.noteWrite(account_id);
      }
    };
    try {
      return await (route.parse ? serveParsed(app, route, request, serve) : serve(request.body));
    } catch (error) {
      await replayOrThrow(app, request, error);
      return undefined;
    }
  };
}

/**
 * Sets the response stored under the request's key on the request, and returns whether there is one. The
 * handler does this for a body that its route parses.
 */
export async function loadStoredResponse(
  app: ApiApp,
  route: Route,
  request: FastifyRequest,
): Promise<boolean> {
  if (route.access === "public" || route.parse || route.multipart) return false;
  if (route.method === "GET") return false;
  return loadStoredResponseFor(app, route, request, request.body);
}

async function serveParsed(
  app: ApiApp,
  route: GuardedRoute,
  request: FastifyRequest,
  serve: (body: unknown) => Promise<unknown>,
): Promise<unknown> {
  // An upload that lacks a required key is refused before it arrives.
  if ((route.multipart || request.isMultipart()) && route.key_required) readKey(request, true);
  const { body, fingerprint, release } = await parseBody(route, request);
  try {
    if (await loadStoredResponseFor(app, route, request, fingerprint)) return undefined;
    return await serve(body);
  } finally {
    await release?.();
  }
}

/** A body that is not valid is reported after a replayed response and after what outranks a 422. */
async function parseBody(
  { parse }: GuardedRoute,
  request: FastifyRequest,
): Promise<ParsedBody<unknown>> {
  try {
    return await parse!({ caller: request.caller!, request });
  } catch (error) {
    const isInvalid = error instanceof Refusal && error.type === "validation-failed";
    if (!isInvalid) throw error;
    request.bodyRefusal = error;
    return { body: undefined, fingerprint: undefined };
  }
}

async function loadStoredResponseFor(
  app: ApiApp,
  route: GuardedRoute,
  request: FastifyRequest,
  fingerprint: unknown,
): Promise<boolean> {
  const key = readKey(request, route.key_required === true);
  if (key === null) return false;
  const { account, user_id } = request.caller!;
  const endpoint = route.is_own ? `${route.id} of user ${user_id}` : route.id;
  const named = { account_id: account.id, endpoint, key };
  request.keyed = keyedRequest(request, named, fingerprint);
  const stored = await findStoredResponse(app.db, request.keyed);
  if (stored !== null) await recheckWrite(app, request, route);
  request.stored = stored;
  return stored !== null;
}

/** A retry is not refused for what the first request used up or changed: it gets the stored response. */
async function replayOrThrow(app: ApiApp, request: FastifyRequest, error: unknown): Promise<void> {
  if (!(error instanceof Refusal) || !request.keyed) throw error;
  request.stored = await findStoredResponse(app.db, request.keyed);
  if (!request.stored) throw error;
}
