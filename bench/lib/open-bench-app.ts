import type { App } from "../../server/engine/app.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

/** Opens an app for the factories of test/support; it runs no loops and serves no requests. */
export function openBenchApp(
  database_url: string,
  chatDrivers: App["chatDrivers"] = {},
): App & { close(): Promise<void> } {
  const log = openLog("warn");
  const db = openDatabase(database_url, log);
  const notifications = openNotifications(database_url, log);
  return {
    db,
    clock: systemClock,
    random: systemRandom,
    log,
    notifications,
    chatDrivers,
    voiceDrivers: {},
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
    async close() {
      await notifications.close();
      await db.close();
    },
  };
}
