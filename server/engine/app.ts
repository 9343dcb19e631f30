import type { Clock } from "../lib/clock.ts";
import type { ChatDrivers } from "../drivers/chat/driver.ts";
import type { AgentDrivers } from "../drivers/ai-agent/driver.ts";
import type { SpeechDriver } from "../drivers/speech/driver.ts";
import type { VoiceDrivers } from "../drivers/voice/driver.ts";
import type { Database } from "../lib/database/database.ts";
import type { Log } from "../lib/log.ts";
import type { OutgoingHttp } from "../lib/outgoing/outgoing-http.ts";
import type { Random } from "../lib/random.ts";
import type { Notifications } from "./notifications.ts";

/** What every verb stands on; made once in main.ts (and by tests, with a clock of their own). */
export type App = {
  readonly db: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly notifications: Notifications;
  readonly chatDrivers: ChatDrivers;
  readonly voiceDrivers: VoiceDrivers;
  readonly agentDrivers: AgentDrivers;
  readonly speech: SpeechDriver;
  readonly outgoing: OutgoingHttp;
};
