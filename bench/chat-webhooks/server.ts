// The API with an additional no-op route, which shows the cost of any POST. `node server.ts` reads
// DATABASE_URL; with APPLY=1 it also applies the webhooks.
import Type from "typebox";
import { openApiApp } from "../../server/api/api-app.ts";
import { buildHttpServer } from "../../server/api/http-server.ts";
import { publicRoute } from "../../server/api/route.ts";
import { routes } from "../../server/api/routes.ts";
import { applyWebhooks } from "../../server/chat/inbound/apply-webhooks.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { openTestWhatsapp } from "../../test/support/chat-webhooks.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const hello = publicRoute({
  method: "POST",
  url: "/hello",
  id: "hello",
  summary: "Answer",
  tag: "System",
  raw_body: true,
  success: { 200: Type.Object({ status: Type.Literal("ok") }) },
  handle: async () => ({ status: "ok" }),
});

const url = process.env["DATABASE_URL"] ?? "";
const log = openLog("warn");
const app = openApiApp(
  {
    db: openDatabase(url, log),
    clock: systemClock,
    random: systemRandom,
    log,
    notifications: openNotifications(url, log),
    chatDrivers: { whatsapp: openTestWhatsapp() },
    voiceDrivers: {},
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
  },
  { replica: null, metrics_token: null, public_url: "http://127.0.0.1", mail: null, oidc: null },
);
const loop =
  process.env["APPLY"] === "1"
    ? runLoop(app, {
        name: "inbound-webhooks",
        channel: "chat_inbound",
        poll_ms: 1_000,
        iterate: (stopping) => applyWebhooks(app, stopping),
      })
    : null;
const server = await buildHttpServer(app, { routes: [...routes, hello] });
process.once("SIGTERM", () => {
  // The leases are released, so that the next applier need not wait until they expire.
  void Promise.all([loop?.stop(), server.close()]).then(() => process.exit(0));
});
console.log(await server.listen({ host: "127.0.0.1", port: 0 }));
