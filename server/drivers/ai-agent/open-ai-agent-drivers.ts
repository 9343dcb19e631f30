import type { Log } from "../../lib/log.ts";
import type { SpeechDriver } from "../speech/driver.ts";
import type { AiAgentDrivers } from "./driver.ts";
import { openRealtimeDriver } from "./realtime/open-realtime-driver.ts";
import type { RealtimeSettings } from "./realtime/open-realtime-socket.ts";
import { openScriptedDriver } from "./scripted/open-scripted-driver.ts";

/** Opens the AI agent drivers of this process: always the scripted one, and the realtime one if a server is configured. */
export function openAiAgentDrivers(
  realtime: RealtimeSettings | null,
  speech: SpeechDriver,
  log: Log,
): AiAgentDrivers {
  const scripted = openScriptedDriver({ speech });
  return realtime === null
    ? { scripted }
    : { scripted, realtime: openRealtimeDriver({ ...realtime, log }) };
}
