// Webhooks of chat providers, authenticated by their signature instead of a token.
import type { FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import type { WebhookGuard } from "../../../drivers/chat/driver.ts";
import { knownId } from "../../../lib/ids.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { Refusal, notFound } from "../../../lib/errors.ts";
import type { ApiApp } from "../../api-app.ts";
import { publicRoute } from "../../route.ts";

/** Meta sends at most 3 MB. */
const hook_bytes_max = 3 * 1_048_576;

const challenge_query = Type.Object({
  "hub.mode": Type.Optional(Type.String()),
  "hub.verify_token": Type.Optional(Type.String()),
  "hub.challenge": Type.Optional(Type.String()),
});

const ownParams = closed({ account_id: pathId("The account whose own Meta app sends") });
const tag = "Provider webhooks";

export const providerHookRoutes = [
  publicRoute({
    method: "GET",
    url: "/hooks/whatsapp",
    id: "subscribeWhatsappHook",
    summary: "Verify a webhook subscription of Meta",
    tag,
    query: challenge_query,
    success: { 200: { contentType: "text/plain" } },
    handle: async ({ app, query, reply }) => answerChallenge(whatsappOf(app), query, reply),
  }),
  publicRoute({
    method: "POST",
    url: "/hooks/whatsapp",
    id: "takeWhatsappHook",
    summary: "Receive a webhook signed by Meta",
    tag,
    before_body: (app) => void whatsappOf(app),
    raw_body: true,
    body_bytes_max: hook_bytes_max,
    success: { 200: Type.Object({ status: Type.Literal("ok") }) },
    handle: ({ app, request }) => takeWebhook(app, request, whatsappOf(app), null),
  }),
  publicRoute({
    method: "GET",
    url: "/hooks/whatsapp/:account_id",
    id: "subscribeOwnWhatsappHook",
    summary: "Verify a webhook subscription of an account's own Meta app",
    tag,
    params: ownParams,
    query: challenge_query,
    success: { 200: { contentType: "text/plain" } },
    handle: async ({ app, query, request, reply }) =>
      answerChallenge(await guardOf(app, request), query, reply),
  }),
  publicRoute({
    method: "POST",
    url: "/hooks/whatsapp/:account_id",
    id: "takeOwnWhatsappHook",
    summary: "Receive a webhook that an account's own Meta app signed",
    tag,
    params: ownParams,
    before_body: requireAccess,
    raw_body: true,
    body_bytes_max: hook_bytes_max,
    success: { 200: Type.Object({ status: Type.Literal("ok") }) },
    handle: async ({ app, request }) =>
      takeWebhook(app, request, await guardOf(app, request), accountOf(request)),
  }),
];

function answerChallenge(
  guard: WebhookGuard | null,
  query: Readonly<Record<string, unknown>>,
  reply: FastifyReply,
): FastifyReply {
  const challenge = guard?.answerChallenge(query) ?? null;
  if (challenge === null)
    throw new Refusal("forbidden", "This is not a subscription with the configured verify token");
  // Plain text, so that no browser shows the echoed challenge as a page.
  return reply.type("text/plain; charset=utf-8").send(challenge);
}

/** Stores a webhook whose signature is right; `account_id` limits it to that account. */
async function takeWebhook(
  app: ApiApp,
  { body, headers }: FastifyRequest,
  guard: WebhookGuard | null,
  account_id: number | null,
): Promise<{ status: "ok" }> {
  const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  if (!guard?.verifySignature(raw, [headers["x-hub-signature-256"]].flat()[0]))
    throw new Refusal("unauthorized", "X-Hub-Signature-256 is missing or does not match the body", {
      headers: { "www-authenticate": 'Signature realm="trunkline"' },
    });
  await app.webhookReceiver.take("whatsapp", raw.toString("utf8"), account_id);
  return { status: "ok" };
}

/** Returns the account in the path; 0, which none has, for what is not an ID. */
function accountOf({ params }: FastifyRequest): number {
  return knownId(Number((params as { account_id?: unknown }).account_id));
}

/**
 * Returns the guard of the own Meta app of the account in the path. Without one, requests are refused as those with a
 * wrong signature or token are, after their body too: strangers do not learn which accounts have an app.
 */
async function guardOf(app: ApiApp, request: FastifyRequest): Promise<WebhookGuard | null> {
  requireAccess(app);
  return app.webhookGuards.find(accountOf(request), () => request.ip);
}

/** Throws 404 unless accounts can have a Meta app of their own. */
function requireAccess({ chatDrivers }: ApiApp): void {
  if (!chatDrivers.whatsappAccess) throw notFound();
}

/** Returns the driver; 404 unless WhatsApp is configured. */
function whatsappOf(app: ApiApp) {
  const { whatsapp } = app.chatDrivers;
  if (!whatsapp) throw notFound();
  return whatsapp;
}
