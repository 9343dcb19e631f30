// Waits until the far end of a leg is silent. Asterisk detects silence while it records; the recording is
// deleted.
import type { Log } from "../../../lib/log.ts";
import type { MessageLimits, VoiceEvent } from "../driver.ts";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";

const suffix = "-greeting";

/** A greeting is longer than its pauses, and a machine is silent after its beep. */
export const greeting_limits: MessageLimits = { max_seconds: 30, silence_seconds: 2 };

/** Returns the name of the recording in which the silence of a leg is detected. */
export function greetingName(leg: string): string {
  return leg + suffix;
}

/** Returns the leg of such a recording; null for any other recording. */
function legOfGreeting(recording: string): string | null {
  return recording.endsWith(suffix) ? recording.slice(0, -suffix.length) : null;
}

/** Reports the end of a greeting's recording as `silent` and deletes it. Returns any other event. */
export function readSilence(
  event: VoiceEvent,
  client: AriClient,
  log: Pick<Log, "warn">,
): VoiceEvent {
  const leg = event.type === "recorded" ? legOfGreeting(event.recording) : null;
  if (leg === null) return event;
  deleteGreeting(client, leg).catch((err: unknown) =>
    log.warn({ err }, "could not delete the recording of a greeting"),
  );
  return { type: "silent", leg, at: new Date() };
}

async function deleteGreeting(client: AriClient, leg: string): Promise<void> {
  const path = ariPath(["recordings", "stored", idAtSwitch(client.app, greetingName(leg))]);
  expectSuccess("deleting a recording", await client.call("DELETE", path), [404]);
}
