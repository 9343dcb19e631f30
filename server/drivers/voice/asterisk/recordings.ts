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
  /** Stops what is recorded of the leg. `earlier`: names of recordings that an earlier session may have begun. */
  stopOf(leg: string, earlier: readonly string[]): Promise<void>;
  /** Drops the messages of a leg that has ended, which ended them. */
  removeOf(leg: string): void;
  onAriEvent(event: AriEvent): void;
  /** Cancels all timers; no further requests are sent. */
  close(): void;
};

type Message = {
  readonly leg: string;
  readonly limits: MessageLimits;
  /** The request to start it, or the search for it, is under way. */
  is_starting: boolean;
  has_started: boolean;
  /** A stop was requested before the start: it waits, because an early stop has no effect and blocks later ones. */
  stop_wanted: boolean;
  timer: NodeJS.Timeout | undefined;
};

type State = {
  readonly client: AriClient;
  /** The legs that this session dialed: no earlier session has recorded them. */
  readonly dialed: ReadonlySet<string>;
  readonly emit: (event: VoiceEvent) => void;
  /** Requested and not reported yet. */
  readonly messages: Map<string, Message>;
  readonly reported: Set<string>;
};

/** Opens the recordings of a session; emits `recorded` once for each. */
export function openRecordings(
  client: AriClient,
  dialed: ReadonlySet<string>,
  emit: (event: VoiceEvent) => void,
): Recordings {
  const state: State = { client, dialed, emit, messages: new Map(), reported: new Set() };
  return {
    async record(bridge, recording) {
      const query = { name: idAtSwitch(client.app, recording), format: "wav", ifExists: "fail" };
      const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "record"], query);
      // 409: already recording. 404: the bridge does not exist.
      expectSuccess("recording", await client.call("POST", path), [404, 409]);
    },
    recordMessage: (leg, recording, limits) =>
      recordLeg(state, recording, { leg, limits }, async () => {
        if (await beep(client, leg, recording)) return startMessage(client, leg, recording, limits);
        return false;
      }),
    recordSilently: (leg, recording, limits) =>
      recordLeg(state, recording, { leg, limits }, () =>
        startMessage(client, leg, recording, limits),
      ),
    stopMessage: (recording) => stopMessage(state, recording),
    async stopOf(leg, earlier) {
      const own = [...state.messages].filter(([, message]) => message.leg === leg);
      const recordings = new Set([...own.map(([recording]) => recording), ...earlier]);
      await Promise.all([...recordings].map((recording) => stopMessage(state, recording)));
    },
    removeOf(leg) {
      for (const [recording, message] of state.messages)
        if (message.leg === leg) drop(state, recording);
    },
    onAriEvent: (event) => handle(state, event),
    close() {
      for (const { timer } of state.messages.values()) clearTimeout(timer);
      state.messages.clear();
    },
  };
}

/**
 * Records a leg, unless it is being recorded. A repeated request reports the end of the recording if its event was
 * missed. `start` returns false when the leg has ended.
 */
async function recordLeg(
  state: State,
  recording: string,
  of: Pick<Message, "leg" | "limits">,
  start: () => Promise<boolean>,
): Promise<void> {
  const known = state.messages.get(recording);
  if (known?.is_starting || state.reported.has(recording)) return;
  const message = known ?? {
    ...of,
    is_starting: true,
    has_started: false,
    stop_wanted: false,
    timer: undefined,
  };
  message.is_starting = true;
  state.messages.set(recording, message);
  try {
    const isNew = known === undefined && state.dialed.has(of.leg);
    const found = isNew ? null : await findRecording(state.client, recording);
    // It ended in the meantime, or its leg did.
    if (state.messages.get(recording) !== message) return;
    if (found === "live") onStarted(state, recording);
    else if (found === "stored" || message.has_started)
      report(state, recording, found === "stored");
    else if (!(await start())) drop(state, recording);
  } finally {
    message.is_starting = false;
  }
}

/** Finds a recording at the switch; null if it has not begun, or has ended without a file. */
async function findRecording(
  client: AriClient,
  recording: string,
): Promise<"live" | "stored" | null> {
  // In this order: a live recording has a file already.
  for (const kind of ["live", "stored"] as const) {
    const path = ariPath(["recordings", kind, idAtSwitch(client.app, recording)]);
    const response = await client.call("GET", path);
    if (expectSuccess("reading a recording", response, [404]).status !== 404) return kind;
  }
  return null;
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

async function stopMessage({ client, messages }: State, recording: string): Promise<void> {
  const message = messages.get(recording);
  if (message) message.stop_wanted = true;
  const path = ariPath(["recordings", "live", idAtSwitch(client.app, recording)]);
  const response = expectSuccess("reading a recording", await client.call("GET", path), [404]);
  const { state: status } = (response.body ?? {}) as { state?: unknown };
  if (response.status !== 404 && status === "recording") await stop(client, recording);
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
  report(state, name, event.type === "RecordingFinished" && isStored(event.recording));
}

function report(state: State, recording: string, ok: boolean): void {
  drop(state, recording);
  state.reported.add(recording);
  if (state.reported.size > reported_max)
    state.reported.delete(state.reported.values().next().value!);
  state.emit({ type: "recorded", recording, ok });
}

/** Returns false for a leg that ended during the beep, for which Asterisk stores no file. */
function isStored({ target_uri, duration }: { target_uri?: string; duration?: number }): boolean {
  return target_uri?.startsWith("channel:") !== true || duration !== undefined;
}

function onStarted({ client, messages }: State, recording: string): void {
  const message = messages.get(recording);
  if (message === undefined) return;
  message.has_started = true;
  clearTimeout(message.timer);
  // A failed stop is harmless: the recording also ends with its leg.
  const end = () => void stop(client, recording).catch(() => {});
  if (message.stop_wanted) end();
  else message.timer = setTimeout(end, message.limits.max_seconds * 1_000 + grace_ms).unref();
}
