import type { Clock } from "../lib/clock.ts";
import type { ChatDrivers } from "../drivers/chat/driver.ts";
import type { AiAgentDrivers } from "../drivers/ai-agent/driver.ts";
import type { SpeechDriver } from "../drivers/speech/driver.ts";
import type { VoiceDrivers } from "../drivers/voice/driver.ts";
import type { Database } from "../lib/database/database.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { OutgoingHttp } from "../lib/outgoing/outgoing-http.ts";
import type { Secrets } from "../lib/secrets/secrets.ts";
import type { Random } from "../lib/random.ts";
import type { Notifications } from "./notifications.ts";

/** The dependencies of every operation; created once in service.ts, and by tests with their own clock. */
export type App = {
  readonly db: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly notifications: Notifications;
  readonly chatDrivers: ChatDrivers;
  readonly voiceDrivers: VoiceDrivers;
  readonly aiAgentDrivers: AiAgentDrivers;
  readonly speech: SpeechDriver;
  readonly outgoing: OutgoingHttp;
  readonly secrets: Secrets;
  /** Only in processes that expose metrics. */
  readonly metrics?: Metrics;
};
