// A telephone switch that is not there: legs are lives by the clock, and what becomes of one is told
// by the number it is dialled to (docs/guides/sandbox.md).
import { randomUUID } from "node:crypto";
import {
  VoiceError,
  type VoiceDriver,
  type VoiceEvent,
  type VoiceNode,
  type VoiceSession,
} from "../driver.ts";
import { openMedia } from "./sandbox-media.ts";
import { openSandboxRecordings } from "./sandbox-recordings.ts";
import { detectAnswerer, playAudio, recordMessage, stopPlaying } from "./sandbox-sound.ts";
import {
  dialLeg,
  endBridge,
  hangUpLeg,
  joinLegs,
  openSwitch,
  recordBridge,
  surveyLegs,
  type After,
  type SandboxSwitch,
} from "./sandbox-switch.ts";

export type SandboxVoiceDriver = VoiceDriver & {
  /** Ends every leg without a word; sessions reach nothing any more. May be repeated. */
  close(): Promise<void>;
};

/** Time, as tests may move it. */
export type Timers = {
  /** Milliseconds of Unix time. */
  now(): number;
  /** Runs once, after the delay, unless the answer is called first. */
  schedule(run: () => void, delay_ms: number): () => void;
};

const system_timers: Timers = {
  now: Date.now,
  schedule(run, delay_ms) {
    const timer = setTimeout(run, delay_ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Opens the sandbox: a switch for each node, which forgets everything when the process ends. `pace`
 * divides every time in it, those it is given as well: at 100, thirty seconds of ringing are 300 ms.
 */
export function openSandboxVoiceDriver(
  options: { pace?: number; timers?: Timers } = {},
): SandboxVoiceDriver {
  const { pace = 1, timers = system_timers } = options;
  const epoch = randomUUID();
  const recordings = openSandboxRecordings();
  const pending = new Set<() => void>();
  const switches = new Map<number, SandboxSwitch>();
  let closed = false;

  const after: After = (delay_ms, run) => {
    if (closed) return () => {};
    const cancel = timers.schedule(() => {
      pending.delete(forget);
      run();
    }, delay_ms / pace);
    const forget = () => {
      pending.delete(forget);
      cancel();
    };
    pending.add(forget);
    return forget;
  };
  const switchOf = ({ id }: VoiceNode): SandboxSwitch => {
    const known = switches.get(id);
    if (known) return known;
    const opened = openSwitch({ recordings, after, pace, now: () => new Date(timers.now()) });
    switches.set(id, opened);
    return opened;
  };
  return {
    open: (node, hear) => openSession(switchOf(node), epoch, hear, () => closed),
    readRecording: async (_node, recording) => recordings.read(recording),
    deleteRecording: async (_node, recording) => recordings.delete(recording),
    async close() {
      closed = true;
      for (const cancel of pending) cancel();
      for (const { media } of switches.values()) for (const endMedia of media) endMedia();
    },
  };
}

/** Takes the switch over from whoever has it. */
function openSession(
  at: SandboxSwitch,
  epoch: string,
  hear: (event: VoiceEvent) => void,
  isShut: () => boolean,
): VoiceSession {
  at.replace?.();
  let isMine = true;
  let isClosed = false;
  const cancelConnect = at.after(0, () => {
    at.hear = hear;
    hear({ type: "connected", epoch });
  });
  const leave = () => {
    if (!isMine) return;
    isMine = false;
    cancelConnect();
    for (const endMedia of at.media) endMedia();
    at.hear = null;
    at.replace = null;
  };
  at.replace = () => {
    leave();
    at.after(0, () => {
      if (!isClosed) hear({ type: "replaced" });
    });
  };
  const ask = async <T>(run: () => T): Promise<T> => {
    if (!isMine || isShut())
      throw new VoiceError("unreachable", "the connection was closed, or taken over");
    return run();
  };
  return {
    dial: (dial) => ask(() => dialLeg(at, dial)),
    hangUp: (leg, cause = 16) => ask(() => hangUpLeg(at, leg, cause)),
    ringback: () => ask(() => {}),
    stopRingback: () => ask(() => {}),
    bridge: (bridge, legs) => ask(() => joinLegs(at, bridge, legs)),
    endBridge: (bridge) => ask(() => endBridge(at, bridge)),
    record: (bridge, recording) => ask(() => recordBridge(at, bridge, recording)),
    play: (leg, playback, audio) => ask(() => playAudio(at, leg, playback, audio)),
    stopPlaying: (leg) => ask(() => stopPlaying(at, leg)),
    detect: (leg) => ask(() => detectAnswerer(at, leg)),
    recordMessage: (leg, recording, limits) => ask(() => recordMessage(at, leg, recording, limits)),
    stopMessage: (recording) => ask(() => at.messages.get(recording)?.()),
    openMedia: (bridge, leg) => ask(() => openMedia(at, bridge, leg)),
    survey: () => ask(() => ({ epoch, ...surveyLegs(at) })),
    findRecord: (leg) => ask(() => at.records.get(leg) ?? null),
    async close() {
      isClosed = true;
      leave();
    },
  };
}
