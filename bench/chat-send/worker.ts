// Our worker role as in production, except for the number of requests in flight.
import { openMetaDriver } from "../../server/drivers/chat/meta/open-meta-driver.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { default_settings, startWorker } from "../../server/worker.ts";
import { serveCommands } from "../lib/child.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("warn");
const whatsapp = openMetaDriver({
  api_url: process.env["API_URL"]!,
  access_token: process.env["ACCESS_TOKEN"]!,
  app_secret: "stub-secret",
  verify_token: "stub-verify",
});
const db = openDatabase(url, log);
const iterations = { count: 0, ms: 0 };
const query = db.pool.query.bind(db.pool) as (statement: unknown) => Promise<unknown>;
const timedQuery = (statement: { text?: string }) => {
  const answer = query(statement);
  if (!statement.text?.includes("record_and_claim_messages(")) return answer;
  const began_ms = performance.now();
  return answer.finally(() => {
    iterations.count++;
    iterations.ms += performance.now() - began_ms;
  });
};
db.pool.query = timedQuery as typeof db.pool.query;

const app = {
  db,
  notifications: openNotifications(url, log),
  log,
  clock: systemClock,
  random: systemRandom,
  chatDrivers: { whatsapp },
  voiceDrivers: {},
  aiAgentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
  secrets: testSecrets,
};
startWorker(app, { ...default_settings, in_flight_max: Number(process.env["IN_FLIGHT"]) });
/** Returns the number of the sender's iterations so far, and their total duration with the round trip. */
serveCommands(async () => iterations);
