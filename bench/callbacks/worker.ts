// Ours: the worker role as it runs in production, with this machine's receivers allowed.
import { openHints } from "../../server/engine/hints.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase } from "../../server/lib/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { startWorker } from "../../server/worker.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { answerOrders } from "../lib/child.ts";

const url = process.env["DATABASE_URL"]!;
const log = openLog("error");
startWorker({
  db: openDatabase(url, log),
  hints: openHints(url, log),
  log,
  clock: systemClock,
  chatDrivers: {},
  voiceDrivers: {},
  agentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
});
answerOrders(async () => ({}));
