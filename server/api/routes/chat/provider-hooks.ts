// Webhooks of chat providers, authenticated by their signature instead of a token.
import Type from "typebox";
import { Refusal, notFound } from "../../../lib/errors.ts";
import type { ApiApp } from "../../api-app.ts";
import { publicRoute } from "../../route.ts";

/** Meta sends at most 3 MB. */
const hook_bytes_max = 3 * 1_048_576;

export const providerHookRoutes = [
  publicRoute({
    method: "GET",
    url: "/hooks/whatsapp",
    id: "subscribeWhatsappHook",
    summary: "Verify a webhook subscription of Meta",
    tag: "Provider webhooks",
    query: Type.Object({
      "hub.mode": Type.Optional(Type.String()),
      "hub.verify_token": Type.Optional(Type.String()),
      "hub.challenge": Type.Optional(Type.String()),
    }),
    success: { 200: { contentType: "text/plain" } },
    handle: async ({ app, query, reply }) => {
      const challenge = whatsappOf(app).answerChallenge(query);
      if (challenge === null)
        throw new Refusal(
          "forbidden",
          "This is not a subscription with the configured verify token",
        );
      // Plain text, so that no browser shows the echoed challenge as a page.
      return reply.type("text/plain; charset=utf-8").send(challenge);
    },
  }),
  publicRoute({
    method: "POST",
    url: "/hooks/whatsapp",
    id: "takeWhatsappHook",
    summary: "Receive a webhook signed by Meta",
    tag: "Provider webhooks",
    before_body: (app) => void whatsappOf(app),
    raw_body: true,
    body_bytes_max: hook_bytes_max,
    success: { 200: Type.Object({ status: Type.Literal("ok") }) },
    handle: async ({ app, body, request }) => {
      const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
      const signature = request.headers["x-hub-signature-256"];
      if (!whatsappOf(app).verifySignature(raw, [signature].flat()[0]))
        throw new Refusal(
          "unauthorized",
          "X-Hub-Signature-256 is missing or does not match the body",
          {
            headers: { "www-authenticate": 'Signature realm="trunkline"' },
          },
        );
      await app.webhookReceiver.take("whatsapp", raw.toString("utf8"));
      return { status: "ok" };
    },
  }),
];

/** Returns the driver; 404 unless WhatsApp is configured. */
function whatsappOf(app: ApiApp) {
  const { whatsapp } = app.chatDrivers;
  if (!whatsapp) throw notFound();
  return whatsapp;
}
