// A simulated switch. Its legs follow timers, and the dialed number selects their behavior
// (docs/guides/sandbox.md).
import { randomUUID } from "node:crypto";
import {
  VoiceError,
  type IncomingCall,
  type LegRecord,
  type VoiceDriver,
  type VoiceEvent,
  type VoiceNode,
  type VoiceSession,
} from "../driver.ts";
import { answerCall } from "./answer-call.ts";
import { openMedia } from "./sandbox-media.ts";
import { openSandboxRecordings } from "./sandbox-recordings.ts";
import {
  awaitSilence,
  detectAnswerer,
  playAudio,
  recordMessage,
  stopPlaying,
} from "./sandbox-audio.ts";
import {
  bridgeLegs,
  dialLeg,
  endBridge,
  hangUpLeg,
  liveLegs,
  openSwitch,
  receiveCall,
  recordBridge,
  type After,
  type SandboxSwitch,
} from "./sandbox-switch.ts";

export type SandboxVoiceDriver = VoiceDriver & {
  /** Ends every leg without events; requests of sessions fail afterwards. May be called repeatedly. */
  close(): Promise<void>;
  /** Simulates a person who calls, and waits until the call is refused or has ended. */
  receiveCall(node: VoiceNode, call: Omit<IncomingCall, "channel">): Promise<void>;
};

/** The clock and timers; tests replace them. */
export type Timers = {
  /** Milliseconds of Unix time. */
  now(): number;
  /** Runs once after the delay; the returned function cancels it. */
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
 * Opens the sandbox: one switch per node, whose state is lost when the process ends. `pace` divides all
 * times, including those in requests: at 100, thirty seconds of ringing take 300 ms.
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
    const cancelTimer = timers.schedule(() => {
      pending.delete(cancel);
      run();
    }, delay_ms / pace);
    const cancel = () => {
      pending.delete(cancel);
      cancelTimer();
    };
    pending.add(cancel);
    return cancel;
  };
  const switchOf = ({ id }: VoiceNode): SandboxSwitch => {
    const known = switches.get(id);
    if (known) return known;
    const opened = openSwitch({ recordings, after, pace, now: () => new Date(timers.now()) });
    switches.set(id, opened);
    return opened;
  };
  return {
    open: (node, onEvent) => openSession(switchOf(node), epoch, onEvent, () => closed),
    readRecording: async (_node, recording) => recordings.read(recording),
    deleteRecording: async (_node, recording) => recordings.delete(recording),
    receiveCall: (node, call) => receiveCall(switchOf(node), call),
    async close() {
      closed = true;
      for (const cancel of pending) cancel();
      for (const { media } of switches.values()) for (const endMedia of media) endMedia();
    },
  };
}

function recordsOf({ records }: SandboxSwitch, legs: readonly string[]): Map<string, LegRecord> {
  const found = legs.map((leg) => [leg, records.get(leg)] as const);
  return new Map(found.flatMap(([leg, record]) => (record ? [[leg, record]] : [])));
}

/** Opens a session, which replaces the current one of the switch. */
function openSession(
  at: SandboxSwitch,
  epoch: string,
  onEvent: (event: VoiceEvent) => void,
  isDriverClosed: () => boolean,
): VoiceSession {
  at.replace?.();
  let isCurrent = true;
  let isClosed = false;
  const cancelConnect = at.after(0, () => {
    at.emit = onEvent;
    onEvent({ type: "connected", epoch });
    for (const call of at.incoming.values()) onEvent({ type: "incoming", ...call, at: at.now() });
  });
  const detach = () => {
    if (!isCurrent) return;
    isCurrent = false;
    cancelConnect();
    for (const endMedia of at.media) endMedia();
    at.emit = null;
    at.replace = null;
  };
  at.replace = () => {
    detach();
    at.after(0, () => {
      if (!isClosed) onEvent({ type: "replaced" });
    });
  };
  const request = async <T>(run: () => T): Promise<T> => {
    if (!isCurrent || isDriverClosed())
      throw new VoiceError("unreachable", "the session is closed or was replaced");
    return run();
  };
  return {
    dial: (dial) => request(() => dialLeg(at, dial)),
    hangUp: (leg, cause = 16) => request(() => hangUpLeg(at, leg, cause)),
    ringback: () => request(() => {}),
    stopRingback: () => request(() => {}),
    bridge: (bridge, legs) => request(() => bridgeLegs(at, bridge, legs)),
    endBridge: (bridge) => request(() => endBridge(at, bridge)),
    record: (bridge, recording) => request(() => recordBridge(at, bridge, recording)),
    play: (leg, playback, audio) => request(() => playAudio(at, leg, playback, audio)),
    stopPlaying: (leg) => request(() => stopPlaying(at, leg)),
    detect: (leg) => request(() => detectAnswerer(at, leg)),
    awaitSilence: (leg) => request(() => awaitSilence(at, leg)),
    recordMessage: (leg, recording, limits) =>
      request(() => recordMessage(at, leg, recording, limits)),
    stopMessage: (recording) => request(() => at.messages.get(recording)?.()),
    openMedia: (bridge, leg) => request(() => openMedia(at, bridge, leg)),
    answer: (channel, leg) => request(() => answerCall(at, channel, leg)),
    refuse: (channel) =>
      request(() => {
        if (at.incoming.has(channel)) at.over.get(channel)?.();
      }),
    snapshot: () => request(() => ({ epoch, ...liveLegs(at) })),
    findCdrs: (legs) => request(() => recordsOf(at, legs)),
    async close() {
      isClosed = true;
      detach();
    },
  };
}
