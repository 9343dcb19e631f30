// Recordings of bridges, and of the messages of a single leg.
import type { MessageLimits, VoiceEvent } from "../driver.ts";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import type { AriEvent } from "./ari-events.ts";
import { idAtSwitch, ownName } from "./names.ts";
import { retryUntilInStasis } from "./retry-until-in-stasis.ts";

/** Asterisk reports the end of a recording twice; this many are remembered as reported. */
const reported_max = 1_000;
/** Asterisk counts only received audio; when the far end sends none, Trunkline ends the recording. */
const grace_ms = 2_000;

export type Recordings = {
  /** See VoiceSession.record. */
  record(bridge: string, recording: string): Promise<void>;
  /** See VoiceSession.recordMessage. */
  recordMessage(leg: string, recording: string, limits: MessageLimits): Promise<void>;
  /** Records the leg as recordMessage does, without a beep. */
  recordSilently(leg: string, recording: string, limits: MessageLimits): Promise<void>;
  /** See VoiceSession.stopMessage. */
  stopMessage(recording: string): Promise<void>;
  onAriEvent(event: AriEvent): void;
  /** Cancels all timers; no further requests are sent. */
  close(): void;
};

type Message = {
  readonly limits: MessageLimits;
  /** A stop was requested before the start: it waits, because an early stop has no effect and blocks later ones. */
  stop_wanted: boolean;
  timer: NodeJS.Timeout | undefined;
};

type State = {
  readonly client: AriClient;
  readonly emit: (event: VoiceEvent) => void;
  /** Requested and not reported yet. */
  readonly messages: Map<string, Message>;
  readonly reported: Set<string>;
};

/** Opens the recordings of a session; emits `recorded` once for each. */
export function openRecordings(client: AriClient, emit: (event: VoiceEvent) => void): Recordings {
  const state: State = { client, emit, messages: new Map(), reported: new Set() };
  return {
    async record(bridge, recording) {
      const query = { name: idAtSwitch(client.app, recording), format: "wav", ifExists: "fail" };
      const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "record"], query);
      // 409: already recording. 404: the bridge does not exist.
      expectSuccess("recording", await client.call("POST", path), [404, 409]);
    },
    recordMessage: (leg, recording, limits) =>
      recordLeg(state, recording, limits, async () => {
        if (await beep(client, leg, recording)) return startMessage(client, leg, recording, limits);
        return false;
      }),
    recordSilently: (leg, recording, limits) =>
      recordLeg(state, recording, limits, () => startMessage(client, leg, recording, limits)),
    async stopMessage(recording) {
      const message = state.messages.get(recording);
      if (message) message.stop_wanted = true;
      const path = ariPath(["recordings", "live", idAtSwitch(client.app, recording)]);
      const response = expectSuccess("reading a recording", await client.call("GET", path), [404]);
      const { state: status } = (response.body ?? {}) as { state?: unknown };
      if (response.status !== 404 && status === "recording") await stop(client, recording);
    },
    onAriEvent: (event) => handle(state, event),
    close() {
      for (const { timer } of state.messages.values()) clearTimeout(timer);
      state.messages.clear();
    },
  };
}

/** `start` returns false when the leg has ended. */
async function recordLeg(
  state: State,
  recording: string,
  limits: MessageLimits,
  start: () => Promise<boolean>,
): Promise<void> {
  if (state.messages.has(recording) || state.reported.has(recording)) return;
  state.messages.set(recording, { limits, stop_wanted: false, timer: undefined });
  try {
    if (!(await start())) drop(state, recording);
  } catch (error) {
    drop(state, recording);
    throw error;
  }
}

/**
 * Plays the beep; false when the leg has ended. A separate playback, because Asterisk ignores a stop request
 * during the recording's own beep.
 */
async function beep(client: AriClient, leg: string, recording: string): Promise<boolean> {
  const playback = idAtSwitch(client.app, `${recording}-beep`);
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "play", playback], {
    media: "sound:beep",
  });
  const played = await retryUntilInStasis(() => client.call("POST", path), [409]);
  return expectSuccess("playing the beep", played, [404]).status !== 404;
}

/** Starts recording; false when the leg has ended. */
async function startMessage(
  client: AriClient,
  leg: string,
  recording: string,
  { max_seconds, silence_seconds }: MessageLimits,
): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "record"], {
    name: idAtSwitch(client.app, recording),
    format: "wav",
    ifExists: "fail",
    maxDurationSeconds: String(max_seconds),
    maxSilenceSeconds: String(silence_seconds),
    terminateOn: "none",
  });
  // 409: already recording, or not in the application yet after AMD.
  const response = await client.call("POST", path);
  return expectSuccess("recording", response, [404, 409]).status !== 404;
}

/** Stops a recording; succeeds when it has already ended. */
async function stop(client: AriClient, recording: string): Promise<void> {
  const path = ariPath(["recordings", "live", idAtSwitch(client.app, recording), "stop"]);
  expectSuccess("stopping a recording", await client.call("POST", path), [404, 409]);
}

function drop({ messages }: State, recording: string): void {
  clearTimeout(messages.get(recording)?.timer);
  messages.delete(recording);
}

function handle(state: State, event: AriEvent): void {
  if (!("recording" in event)) return;
  const name = ownName(state.client.app, event.recording.name);
  if (name === null || state.reported.has(name)) return;
  if (event.type === "RecordingStarted") {
    onStarted(state, name);
    return;
  }
  drop(state, name);
  state.reported.add(name);
  if (state.reported.size > reported_max)
    state.reported.delete(state.reported.values().next().value!);
  const ok = event.type === "RecordingFinished" && isStored(event.recording);
  state.emit({ type: "recorded", recording: name, ok });
}

/** Returns false for a leg that ended during the beep, for which Asterisk stores no file. */
function isStored({ target_uri, duration }: { target_uri?: string; duration?: number }): boolean {
  return target_uri?.startsWith("channel:") !== true || duration !== undefined;
}

function onStarted({ client, messages }: State, recording: string): void {
  const message = messages.get(recording);
  if (message === undefined) return;
  // A failed stop is harmless: the recording also ends with its leg.
  const end = () => void stop(client, recording).catch(() => {});
  if (message.stop_wanted) end();
  else message.timer = setTimeout(end, message.limits.max_seconds * 1_000 + grace_ms).unref();
}
