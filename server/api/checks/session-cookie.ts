// The cookie of a session, and the check that a request with it was made by our own pages.
import type { FastifyReply, FastifyRequest } from "fastify";
import { session_days_max } from "../../accounts/sessions/create-session.ts";
import { challenge_minutes_max } from "../../accounts/sessions/passkey-schema.ts";
import { oidc_minutes_max } from "../../accounts/sessions/oidc-sign-in.ts";
import { Refusal } from "../../lib/errors.ts";

/** The prefix makes browsers refuse it without Secure, with a domain, or from a sibling host (RFC 6265bis). */
export const session_cookie = "__Host-trunkline";
const attributes = { path: "/", httpOnly: true, secure: true, sameSite: "lax" } as const;

/** Returns the text of the session's cookie; null without one. */
export function readSessionCookie(request: FastifyRequest): string | null {
  return request.cookies[session_cookie] ?? null;
}

/** Sets the cookie. It outlives the browser's window for as long as a session may last. */
export function setSessionCookie(reply: FastifyReply, text: string): void {
  void reply.setCookie(session_cookie, text, { ...attributes, maxAge: session_days_max * 86_400 });
}

/** Removes the cookie from the browser. */
export function clearSessionCookie(reply: FastifyReply): void {
  void reply.clearCookie(session_cookie, attributes);
}

const oidc_cookie = "__Host-trunkline-oidc";

/** Returns the text of a sign-in that has begun at the identity provider; empty without one. */
export function readOidcCookie(request: FastifyRequest): string {
  return request.cookies[oidc_cookie] ?? "";
}

/** Sets the cookie of a sign-in that has begun at the identity provider. */
export function setOidcCookie(reply: FastifyReply, text: string): void {
  void reply.setCookie(oidc_cookie, text, { ...attributes, maxAge: oidc_minutes_max * 60 });
}

/** Removes that cookie: an answer is taken once. */
export function clearOidcCookie(reply: FastifyReply): void {
  void reply.clearCookie(oidc_cookie, attributes);
}

const passkey_cookie = "__Host-trunkline-passkey";

/** Returns the text of the challenge for a passkey; empty without one. */
export function readPasskeyCookie(request: FastifyRequest): string {
  return request.cookies[passkey_cookie] ?? "";
}

/** Sets the cookie of the challenge for a passkey. */
export function setPasskeyCookie(reply: FastifyReply, text: string): void {
  const maxAge = challenge_minutes_max * 60;
  void reply.setCookie(passkey_cookie, text, { ...attributes, maxAge });
}

/** Removes that cookie: a challenge is answered once. */
export function clearPasskeyCookie(reply: FastifyReply): void {
  void reply.clearCookie(passkey_cookie, attributes);
}

/** Throws forbidden where the browser would refuse the cookie: over plain http from another machine. */
export function refusePlainHttp({ headers: { origin } }: FastifyRequest): void {
  if (origin === undefined || !URL.canParse(origin)) return;
  const { protocol, hostname } = new URL(origin);
  if (protocol === "https:" || /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return;
  throw new Refusal(
    "forbidden",
    "Browsers keep a session over https only: open the console at its https address, or on the machine itself",
  );
}

/**
 * Throws forbidden for a write that another site's page sent with our cookie. Browsers send Sec-Fetch-Site to us over
 * https and on loopback, and Origin with every write; a body without a Content-Type needs no preflight, so SameSite is
 * not enough (https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html).
 */
export function refuseCrossSite({ method, headers, host }: FastifyRequest): void {
  if (method === "GET" || method === "HEAD") return;
  const site = headers["sec-fetch-site"];
  if (site === "same-origin") return;
  if (site === undefined && isOwnOrigin(headers.origin, host)) return;
  throw new Refusal("forbidden", "A session accepts changes from its own pages only");
}

/**
 * Throws forbidden for a WebSocket that another site's page opens: browsers send our cookie with it and let the page
 * read the answers (https://cheatsheetseries.owasp.org/cheatsheets/WebSocket_Security_Cheat_Sheet.html). Programs send
 * no Origin, and no cookie.
 */
export function refuseOtherOrigin(request: FastifyRequest, public_url: string): void {
  const { origin } = request.headers;
  if (origin === undefined && readSessionCookie(request) === null) return;
  // A proxy may send another Host than the browser did.
  if (isOwnOrigin(origin, request.host) || origin === new URL(public_url).origin) return;
  throw new Refusal("forbidden", "A session accepts sockets from its own pages only");
}

function isOwnOrigin(origin: string | undefined, host: string): boolean {
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
