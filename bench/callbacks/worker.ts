// Our worker role as in production, with receivers on this machine allowed.
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { startWorker } from "../../server/worker.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { serveCommands } from "../lib/child.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("error");
const db = openDatabase(url, log);
const iterations = { count: 0, ms: 0 };
const query = db.pool.query.bind(db.pool) as (statement: unknown) => Promise<unknown>;
const timedQuery = (statement: { text?: string }) => {
  const answer = query(statement);
  if (!statement.text?.includes("record_and_claim_deliveries(")) return answer;
  const began_ms = performance.now();
  return answer.finally(() => {
    iterations.count++;
    iterations.ms += performance.now() - began_ms;
  });
};
db.pool.query = timedQuery as typeof db.pool.query;

startWorker({
  db,
  notifications: openNotifications(url, log),
  log,
  clock: systemClock,
  random: systemRandom,
  chatDrivers: {},
  voiceDrivers: {},
  aiAgentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
  secrets: testSecrets,
});
/** Returns the number of the deliverers' iterations so far, and their total duration with the round trip. */
serveCommands(async () => iterations);
