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

export type Greetings = {
  /** Records that the greeting of the leg is being recorded. */
  add(leg: string): void;
  /** Reports the end of a greeting's recording as `silent` and deletes it. Returns any other event. */
  readSilence(event: VoiceEvent): VoiceEvent;
  /** Deletes the greeting of an ended leg, if that has not succeeded yet. */
  deleteOf(leg: string): void;
  /** Does so for all legs that a snapshot does not show: the ends of their recordings may have been missed. */
  onSnapshot(live: readonly { readonly leg: string }[]): void;
};

/** Opens the greetings of a session, which deletes each of their recordings. */
export function openGreetings(client: AriClient, log: Pick<Log, "warn">): Greetings {
  const stored = new Set<string>();
  const deleteNow = (leg: string) => {
    deleteGreeting(client, leg).then(
      () => stored.delete(leg),
      (err: unknown) => log.warn({ err }, "could not delete the recording of a greeting"),
    );
  };
  return {
    add: (leg) => void stored.add(leg),
    readSilence(event) {
      const leg = event.type === "recorded" ? legOfGreeting(event.recording) : null;
      if (leg === null) return event;
      deleteNow(leg);
      return { type: "silent", leg, at: new Date() };
    },
    deleteOf(leg) {
      if (stored.has(leg)) deleteNow(leg);
    },
    onSnapshot(live) {
      const shown = new Set(live.map(({ leg }) => leg));
      for (const leg of stored) if (!shown.has(leg)) deleteNow(leg);
    },
  };
}

async function deleteGreeting(client: AriClient, leg: string): Promise<void> {
  const path = ariPath(["recordings", "stored", idAtSwitch(client.app, greetingName(leg))]);
  expectSuccess("deleting a recording", await client.call("DELETE", path), [404]);
}
