// Two-way audio with a leg of the sandbox. Written audio takes its time at the sandbox's pace, and the leg
// sends none. After its patience in silence, the leg hangs up.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import type { LegBehavior } from "./leg-behavior.ts";
import { pressKeys, serveLeg } from "./sandbox-audio.ts";
import {
  bridgeLegs,
  end,
  farEndHungUp,
  type SandboxLeg,
  type SandboxSwitch,
} from "./sandbox-switch.ts";

/** See VoiceSession.openMedia. */
export function openMedia(at: SandboxSwitch, bridge: string, name: string): CallMedia {
  const leg = serveLeg(at, name);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const now_ms = () => at.now().getTime();
  /** When all written audio has been played, in this machine's time; null after the end. */
  let played_at_ms: number | null = now_ms();
  const queued_ms = () => Math.max(0, (played_at_ms ?? 0) - now_ms()) * at.pace;
  const close = () => {
    played_at_ms = null;
    at.media.delete(close);
    leg?.on_end.delete(close);
    resolve();
  };
  if (leg === null) close();
  else {
    bridgeLegs(at, bridge, [name]);
    at.media.add(close);
    leg.on_end.add(close);
    pressKeys(at, leg);
    hangUpAfterSilence(at, leg, () => (played_at_ms === null ? null : played_at_ms - now_ms()));
  }
  return {
    listen() {},
    write(samples) {
      if (played_at_ms === null) return;
      const from_ms = Math.max(played_at_ms, now_ms());
      played_at_ms = from_ms + samples.length / bytes_per_ms / at.pace;
    },
    flush() {
      if (played_at_ms !== null) played_at_ms = Math.min(played_at_ms, now_ms());
    },
    queued_ms,
    close: async () => close(),
    closed,
  };
}

/** `audioLeft` returns the time until the audio ends, negative after its end; null when the media has ended. */
function hangUpAfterSilence(
  at: SandboxSwitch,
  leg: SandboxLeg,
  audioLeft: () => number | null,
): void {
  const { patience_ms } = leg.behavior as Extract<LegBehavior, { kind: "answers" }>;
  if (patience_ms === null) return;
  const check = () => {
    const left_ms = audioLeft();
    if (left_ms === null) return;
    const wait_ms = left_ms * at.pace + patience_ms;
    // A leg that is bridged with another one talks to it.
    const isAlone = (at.bridges.get(leg.bridge ?? "")?.legs.size ?? 0) < 2;
    if (wait_ms > 0) leg.timers.push(at.after(wait_ms, check));
    else if (isAlone) end(at, leg, farEndHungUp());
  };
  check();
}
