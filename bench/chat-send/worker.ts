// Ours: the worker role as it runs in production, but for the slots of a number.
import { openMetaDriver } from "../../server/drivers/chat/meta/open-meta-driver.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { default_settings, startWorker } from "../../server/worker.ts";
import { answerOrders } from "../lib/child.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("warn");
const whatsapp = openMetaDriver({
  api_url: process.env["API_URL"]!,
  access_token: process.env["ACCESS_TOKEN"]!,
  app_secret: "stub-secret",
  verify_token: "stub-verify",
});
const db = openDatabase(url, log);
const turns = { count: 0, ms: 0 };
const query = db.pool.query.bind(db.pool) as (asked: unknown) => Promise<unknown>;
const queryTimed = (asked: { text?: string }) => {
  const answer = query(asked);
  if (!asked.text?.includes("record_and_claim_messages(")) return answer;
  const began_ms = performance.now();
  return answer.finally(() => {
    turns.count++;
    turns.ms += performance.now() - began_ms;
  });
};
db.pool.query = queryTimed as typeof db.pool.query;

const app = {
  db,
  notifications: openNotifications(url, log),
  log,
  clock: systemClock,
  random: systemRandom,
  chatDrivers: { whatsapp },
  voiceDrivers: {},
  agentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
};
startWorker(app, { ...default_settings, in_flight_max: Number(process.env["IN_FLIGHT"]) });
/** The sender's turns so far, and how long they took with their way there and back. */
answerOrders(async () => turns);
