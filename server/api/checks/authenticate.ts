// 401, then 403 for the address, then the rate limits, then any other 403, then 503 for a write of a frozen account, before
// the body is read.
import type { FastifyReply, FastifyRequest } from "fastify";
import { isUsableFrom, type Caller } from "../../accounts/caller.ts";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { frozenAccount, Refusal } from "../../lib/errors.ts";
import type { ApiApp } from "../api-app.ts";
import type { RateCounter } from "./rate-limit.ts";
import type { RequestLimiter } from "./request-limit.ts";
import { readSessionCookie, refuseCrossSite } from "./session-cookie.ts";
import type { Access, GuardedRoute } from "../route.ts";

/** Returns the token in the Authorization header; 401 without one. */
export function bearerToken({ headers }: FastifyRequest): string {
  const header = headers.authorization;
  if (header === undefined) throw unauthorized("The Authorization header is missing");
  const match = /^bearer +([^ ]+) *$/i.exec(header);
  if (!match)
    throw unauthorized("The Authorization header must be of the form: Bearer <ACCESS_TOKEN>");
  return match[1]!;
}

/**
 * Returns the token of the Authorization header, or else of the session's cookie; 401 without either, 403 for a write
 * of another site with the cookie.
 */
export function requestToken(request: FastifyRequest): string {
  const session = request.headers.authorization === undefined ? readSessionCookie(request) : null;
  if (session === null) return bearerToken(request);
  refuseCrossSite(request);
  return session;
}

/**
 * Returns the caller of the request's token; 401 without one (contract 5.1, 5.6), 403 if the token may not be used from the
 * request's address.
 */
async function authenticate(app: ApiApp, request: FastifyRequest): Promise<Caller> {
  const { ip } = request;
  const caller = await app.tokens.find(requestToken(request), () => addressGroup(ip), ip);
  if (!caller) throw unauthorized("The access token is unknown, expired or revoked");
  const is_session = request.headers.authorization === undefined;
  if (is_session !== (caller.token_kind === "session"))
    throw unauthorized("A session is valid in its cookie only, and any other token in a header");
  if (!isUsableFrom(caller, ip))
    throw new Refusal("forbidden", `This token may not be used from the address ${ip}`);
  return caller;
}

/** Throws 403 unless the account has one of the features and the caller one of the permissions. */
function authorize(access: Access, caller: Caller): void {
  const { features } = access;
  if (features && !features.some((feature) => caller.account.features.has(feature))) {
    throw new Refusal(
      "forbidden",
      `This account does not have the feature ${features.join(" or ")}`,
    );
  }
  if (access.anyOf === "any_token") return;
  if (access.anyOf === "session") {
    if (caller.token_kind === "session") return;
    throw new Refusal("forbidden", "This needs a session, not a token");
  }
  if (!access.anyOf.some((permission) => caller.permissions.has(permission))) {
    const type = (caller.token_kind !== "account" && access.agent_denied) || "forbidden";
    throw new Refusal(type, `This token needs the permission ${access.anyOf.join(" or ")}`);
  }
}

/** A hook that runs these checks and sets the caller on the request. */
export function guard(
  app: ApiApp,
  { counter, limiter }: { readonly counter: RateCounter; readonly limiter: RequestLimiter },
  { access, rate_limit, frozen_too }: GuardedRoute,
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.caller = await authenticate(app, request);
    limiter.count(request, reply, rate_limit !== undefined);
    if (rate_limit) await counter.count(rate_limit, request, reply);
    authorize(access, request.caller);
    if (!frozen_too) refuseFrozenWrite(request, request.caller);
  };
}

/**
 * Makes these checks of a write and sets its caller again: its body may have come long after its token was checked, and
 * the caller may have another role by now, or the account be frozen. What is known of the token is at most five seconds old,
 * which an export waits for (drain-account.ts).
 */
export async function recheckWrite(
  app: ApiApp,
  request: FastifyRequest,
  { access, frozen_too }: GuardedRoute,
): Promise<void> {
  if (isRead(request)) return;
  request.caller = await authenticate(app, request);
  authorize(access, request.caller);
  if (!frozen_too) refuseFrozenWrite(request, request.caller);
}

function refuseFrozenWrite(request: FastifyRequest, { account }: Caller): void {
  if (account.frozen && !isRead(request)) throw frozenAccount();
}

function isRead({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

/** Checks token and permissions again, for an answer that lasts: 401 or 403 once access is revoked. */
export async function reauthorize(
  app: ApiApp,
  request: FastifyRequest,
  access: Access,
): Promise<void> {
  authorize(access, await authenticate(app, request));
}

/** Returns a 401 with the header that it must have. */
export function unauthorized(detail: string): Refusal {
  return new Refusal("unauthorized", detail, {
    headers: { "www-authenticate": 'Bearer realm="trunkline"' },
  });
}
