// Our service as in production, with the roles of ROLES. Records when a click-to-call's request arrives, by
// its header, and when the first leg's POST is sent to the switch.
import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { openApiApp } from "../../server/api/api-app.ts";
import { buildHttpServer } from "../../server/api/http-server.ts";
import { openAsteriskDriver } from "../../server/drivers/voice/asterisk/open-asterisk-driver.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { startWorker } from "../../server/worker.ts";
import { serveCommands } from "../lib/child.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";
import { request_header } from "./submit-calls.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const url = process.env["DATABASE_URL"]!;
const roles = process.env["ROLES"]!.split(",");
const log = openLog("warn");

let times: Record<string, number> = {};
subscribe("http.server.request.start", (message) => {
  const { headers } = (message as { request: IncomingMessage }).request;
  const number = headers[request_header];
  if (number !== undefined) times[`received ${String(number)}`] = machineTime_ms();
});
subscribe("undici:client:sendHeaders", (message) => {
  const { method, path } = (message as { request: { method: string; path: string } }).request;
  const call = /^\/ari\/channels\/trk-\d+-(\d+)-1_\w*\?/.exec(path)?.[1];
  if (method === "POST" && call) times[`posted ${call}`] = machineTime_ms();
});

const app = openApiApp(
  {
    db: openDatabase(url, log),
    notifications: openNotifications(url, log),
    log,
    clock: systemClock,
    random: systemRandom,
    chatDrivers: {},
    voiceDrivers: { asterisk: openAsteriskDriver(log) },
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
  },
  { replica: null, metrics_token: null, public_url: "http://127.0.0.1", mail: null, oidc: null },
);
const work = roles.includes("worker") ? startWorker(app) : null;
// The lease is released, so that the next leader need not wait until it expires.
process.once("SIGTERM", () => void Promise.resolve(work?.stop()).then(() => process.exit(0)));
let port = 0;
if (roles.includes("api")) {
  const server = await buildHttpServer(app);
  await server.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = server.server.address() as AddressInfo);
}
/** `times: 1`: returns the times recorded since the last such request, in ms; otherwise the port. */
serveCommands(async (command) => {
  if (!command["times"]) return { port };
  const answer = times;
  times = {};
  return answer;
});
