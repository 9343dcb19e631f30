// Runs only the worker role as a separate process that a test can kill. It ends with the test.
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { startWorker } from "../../server/worker.ts";
import { localOutgoing } from "./local-outgoing.ts";
import { toneSpeech } from "./tone-speech.ts";
import { testSecrets } from "./secrets.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("error", { readable: false });
const db = openDatabase(url, log);
const notifications = openNotifications(url, log);
startWorker({
  db,
  notifications,
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
process.stdin.resume().on("end", () => process.exit());
