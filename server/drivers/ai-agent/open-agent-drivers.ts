import type { Log } from "../../lib/log.ts";
import type { SpeechDriver } from "../speech/driver.ts";
import type { AgentDrivers } from "./driver.ts";
import { openRealtimeAgent } from "./realtime/open-realtime-agent.ts";
import type { RealtimeSettings } from "./realtime/open-realtime-socket.ts";
import { openScriptedAgent } from "./scripted/open-scripted-agent.ts";

/** The agents of this process: the scripted one always, the realtime one where a server is named. */
export function openAgentDrivers(
  realtime: RealtimeSettings | null,
  speech: SpeechDriver,
  log: Log,
): AgentDrivers {
  const scripted = openScriptedAgent({ speech });
  return realtime === null
    ? { scripted }
    : { scripted, realtime: openRealtimeAgent({ ...realtime, log }) };
}
