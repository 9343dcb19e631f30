// Sets up a session with a realtime server: connects, and negotiates settings and audio formats.
import type { Log } from "../../../lib/log.ts";
import type { Timers } from "../../../lib/timers.ts";
import type { AiAgentPlan, CallbackTerms } from "../driver.ts";
import { readFormat, type AudioFormat } from "./audio-format.ts";
import {
  openRealtimeSocket,
  type RealtimeSettings,
  type RealtimeSocket,
} from "./open-realtime-socket.ts";
import { readServerEvent, type ServerEvent } from "./read-server-event.ts";
import { sessionUpdate } from "./session-update.ts";

/** Requested in this order; a server may still choose another format. */
const formats: readonly AudioFormat[] = ["pcmu", "pcm"];

export type SessionFormats = { readonly input: AudioFormat; readonly output: AudioFormat };

/** Follows a session from its set-up on. */
export type SessionFollower = {
  /** The session is set up. */
  readonly begin: (formats: SessionFormats) => void;
  readonly handle: (event: ServerEvent) => void;
  /** The session could not be set up, or the connection was lost. */
  readonly fail: (reason: string, err?: unknown) => void;
};

export type RealtimeSession = {
  readonly socket: RealtimeSocket;
  /** Resolves to null once the session is set up, or to why it was not. */
  readonly ready: Promise<string | null>;
  /** Resolves when the session cannot be used (any more). */
  readonly lost: Promise<void>;
  /** Passes everything that happens to the only follower; what already happened, in a moment. */
  follow(follower: SessionFollower): void;
  close(): Promise<void>;
};

export type RealtimeSessionParts = {
  readonly settings: RealtimeSettings;
  readonly plan: AiAgentPlan;
  readonly callbacks: CallbackTerms;
  /** The time to set up the session. */
  readonly ready_ms: number;
  readonly timers: Timers;
  readonly log: Log;
};

/** Opens a session. It is never set up again after it failed. */
export function openRealtimeSession(parts: RealtimeSessionParts): RealtimeSession {
  const { settings, ready_ms, timers, log } = parts;
  const ready = Promise.withResolvers<string | null>();
  const lost = Promise.withResolvers<void>();
  let follower: SessionFollower | null = null;
  let agreed: SessionFormats | null = null;
  let failure: { readonly reason: string; readonly err: unknown } | null = null;
  let isClosed = false;
  const fail = (reason: string, err?: unknown) => {
    if (failure || isClosed) return;
    failure = { reason, err };
    stopWaiting();
    ready.resolve(reason);
    lost.resolve();
    if (follower) return follower.fail(reason, err);
    log.warn({ err }, `realtime AI agent failed before its call was answered: ${reason}`);
    void socket.close();
  };
  const setUp = openSetUp(parts, (event) => socket.send(event), fail);
  const socket = openRealtimeSocket(
    { ...settings, handshake_ms: ready_ms },
    {
      onMessage(message) {
        const event = readServerEvent(message);
        if (!event || failure) return;
        if (agreed) return follower?.handle(event);
        agreed = setUp(event);
        if (!agreed) return;
        stopWaiting();
        ready.resolve(null);
        follower?.begin(agreed);
      },
      onLost: (err) =>
        fail(agreed ? "the connection was lost" : "the connection could not be set up", err),
    },
  );
  const stopWaiting = timers.schedule(() => fail("the session was not set up in time"), ready_ms);
  return {
    socket,
    ready: ready.promise,
    lost: lost.promise,
    follow(next) {
      follower = next;
      if (failure) queueMicrotask(() => next.fail(failure!.reason, failure!.err));
      else if (agreed) next.begin(agreed);
    },
    async close() {
      isClosed = true;
      stopWaiting();
      ready.resolve("the session was closed");
      await socket.close();
    },
  };
}

/** Returns a function that handles events until the session is set up, and then returns its formats. */
function openSetUp(
  { plan, callbacks, settings: { transcription_model } }: RealtimeSessionParts,
  send: (event: object) => void,
  fail: (reason: string) => void,
): (event: ServerEvent) => SessionFormats | null {
  /** The index in `formats` of the requested format; null before the session is created. */
  let index: number | null = null;
  const request = (next: number) => {
    index = next;
    const format = formats[next];
    if (format) send(sessionUpdate(plan, callbacks, transcription_model, format));
    else fail("the session's settings were rejected");
  };
  return (event) => {
    if (event.type === "created" && index === null) request(0);
    else if (event.type === "error" && index !== null) request(index + 1);
    else if (event.type === "error") fail("the session was rejected");
    if (event.type !== "updated" || index === null) return null;
    const requested = formats[index] ?? "pcmu";
    const input = readFormat(event.input, requested);
    const output = readFormat(event.output, requested);
    if (input !== null && output !== null) return { input, output };
    fail("the session's audio format is not supported");
    return null;
  };
}
