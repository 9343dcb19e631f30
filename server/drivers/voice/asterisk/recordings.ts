// Recordings, of bridges and of what one leg has to say.
import type { MessageLimits, VoiceEvent } from "../driver.ts";
import { ariPath, expectDone, type AriClient } from "./ari-client.ts";
import type { AriEvent } from "./ari-events.ts";
import { idAtSwitch, ownName } from "./names.ts";
import { whenHandedOver } from "./when-handed-over.ts";

/** Asterisk tells the end of a recording twice; so many are remembered as told. */
const told_max = 1_000;
/** Asterisk counts only sound that comes: of a far end that sends none, we end the recording. */
const longer_ms = 2_000;

export type Recordings = {
  /** See VoiceSession.record. */
  record(bridge: string, recording: string): Promise<void>;
  /** See VoiceSession.recordMessage. */
  recordMessage(leg: string, recording: string, limits: MessageLimits): Promise<void>;
  /** See VoiceSession.stopMessage. */
  stopMessage(recording: string): Promise<void>;
  hear(event: AriEvent): void;
  /** Nothing is asked for any more. */
  close(): void;
};

type Message = {
  readonly limits: MessageLimits;
  /** What is stopped before it began would begin all the same, and could not be stopped again. */
  stop_wanted: boolean;
  timer: NodeJS.Timeout | undefined;
};

type State = {
  readonly client: AriClient;
  readonly tell: (event: VoiceEvent) => void;
  /** Those asked for and not told of. */
  readonly messages: Map<string, Message>;
  readonly told: Set<string>;
};

export function openRecordings(client: AriClient, tell: (event: VoiceEvent) => void): Recordings {
  const state: State = { client, tell, messages: new Map(), told: new Set() };
  return {
    async record(bridge, recording) {
      const query = { name: idAtSwitch(client.app, recording), format: "wav", ifExists: "fail" };
      const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "record"], query);
      // 409: it records already. 404: the bridge is gone.
      expectDone("recording", await client.call("POST", path), [404, 409]);
    },
    async recordMessage(leg, recording, limits) {
      if (state.messages.has(recording) || state.told.has(recording)) return;
      state.messages.set(recording, { limits, stop_wanted: false, timer: undefined });
      try {
        if (!(await beginMessage(client, leg, recording, limits))) drop(state, recording);
      } catch (error) {
        drop(state, recording);
        throw error;
      }
    },
    async stopMessage(recording) {
      const message = state.messages.get(recording);
      if (message) message.stop_wanted = true;
      const path = ariPath(["recordings", "live", idAtSwitch(client.app, recording)]);
      const answer = expectDone("reading a recording", await client.call("GET", path), [404]);
      const { state: how } = (answer.body ?? {}) as { state?: unknown };
      if (answer.status !== 404 && how === "recording") await stop(client, recording);
    },
    hear: (event) => hear(state, event),
    close() {
      for (const { timer } of state.messages.values()) clearTimeout(timer);
      state.messages.clear();
    },
  };
}

/**
 * False when the leg is gone. The beep is played by itself: while Asterisk plays its own, it does not
 * hear that it shall stop.
 */
async function beginMessage(
  client: AriClient,
  leg: string,
  recording: string,
  { max_seconds, silence_seconds }: MessageLimits,
): Promise<boolean> {
  const channel = ["channels", idAtSwitch(client.app, leg)];
  const beep = ariPath([...channel, "play", idAtSwitch(client.app, `${recording}-beep`)], {
    media: "sound:beep",
  });
  const played = await whenHandedOver(() => client.call("POST", beep), [409]);
  if (expectDone("beeping", played, [404]).status === 404) return false;
  const path = ariPath([...channel, "record"], {
    name: idAtSwitch(client.app, recording),
    format: "wav",
    ifExists: "fail",
    maxDurationSeconds: String(max_seconds),
    maxSilenceSeconds: String(silence_seconds),
    terminateOn: "none",
  });
  // 409: it records already.
  const answer = expectDone("recording", await client.call("POST", path), [404, 409]);
  return answer.status !== 404;
}

/** It is over already, or is by this. */
async function stop(client: AriClient, recording: string): Promise<void> {
  const path = ariPath(["recordings", "live", idAtSwitch(client.app, recording), "stop"]);
  expectDone("ending a recording", await client.call("POST", path), [404, 409]);
}

function drop({ messages }: State, recording: string): void {
  clearTimeout(messages.get(recording)?.timer);
  messages.delete(recording);
}

function hear(state: State, event: AriEvent): void {
  if (!("recording" in event)) return;
  const name = ownName(state.client.app, event.recording.name);
  if (name === null || state.told.has(name)) return;
  if (event.type === "RecordingStarted") {
    began(state, name);
    return;
  }
  drop(state, name);
  state.told.add(name);
  if (state.told.size > told_max) state.told.delete(state.told.values().next().value!);
  const ok = event.type === "RecordingFinished" && isKept(event.recording);
  state.tell({ type: "recorded", recording: name, ok });
}

/** A leg that ended before it could say anything leaves no file, and no length. */
function isKept({ target_uri, duration }: { target_uri?: string; duration?: number }): boolean {
  return target_uri?.startsWith("channel:") !== true || duration !== undefined;
}

function began({ client, messages }: State, recording: string): void {
  const message = messages.get(recording);
  if (message === undefined) return;
  // Whoever waits for it waits no longer than its length; what ends it ends with the leg too.
  const end = () => void stop(client, recording).catch(() => {});
  if (message.stop_wanted) end();
  else message.timer = setTimeout(end, message.limits.max_seconds * 1_000 + longer_ms).unref();
}
