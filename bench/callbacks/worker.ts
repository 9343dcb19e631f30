// Ours: the worker role as it runs in production, with this machine's receivers allowed.
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { startWorker } from "../../server/worker.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { answerOrders } from "../lib/child.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("error");
const db = openDatabase(url, log);
const turns = { count: 0, ms: 0 };
const query = db.pool.query.bind(db.pool) as (asked: unknown) => Promise<unknown>;
const queryTimed = (asked: { text?: string }) => {
  const answer = query(asked);
  if (!asked.text?.includes("record_and_claim_deliveries(")) return answer;
  const began_ms = performance.now();
  return answer.finally(() => {
    turns.count++;
    turns.ms += performance.now() - began_ms;
  });
};
db.pool.query = queryTimed as typeof db.pool.query;

startWorker({
  db,
  notifications: openNotifications(url, log),
  log,
  clock: systemClock,
  random: systemRandom,
  chatDrivers: {},
  voiceDrivers: {},
  agentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
});
/** The deliverers' turns so far, and how long they took with their way there and back. */
answerOrders(async () => turns);
