// Sound both ways with a leg of the sandbox: it hears what is written, in the sandbox's time, and says
// nothing. After a while without a word it hangs up.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import type { LegLife } from "./leg-life.ts";
import { pressKeys, serveLeg } from "./sandbox-sound.ts";
import {
  end,
  farEndHungUp,
  joinLegs,
  type SandboxLeg,
  type SandboxSwitch,
} from "./sandbox-switch.ts";

/** See VoiceSession.openMedia. */
export function openMedia(at: SandboxSwitch, bridge: string, name: string): CallMedia {
  const leg = serveLeg(at, name);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const now_ms = () => at.now().getTime();
  /** When all that was written is played, in this machine's time; null: it is over. */
  let played_at_ms: number | null = now_ms();
  const queued_ms = () => Math.max(0, (played_at_ms ?? 0) - now_ms()) * at.pace;
  const close = () => {
    played_at_ms = null;
    at.media.delete(close);
    leg?.at_end.delete(close);
    resolve();
  };
  if (leg === null) close();
  else {
    joinLegs(at, bridge, [name]);
    at.media.add(close);
    leg.at_end.add(close);
    pressKeys(at, leg);
    hangUpWhenBored(at, leg, () => (played_at_ms === null ? null : played_at_ms - now_ms()));
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

/** `quietIn`: for so long it still hears something; negative: so long ago it ended; null: there is no media. */
function hangUpWhenBored(at: SandboxSwitch, leg: SandboxLeg, quietIn: () => number | null): void {
  const { patience_ms } = leg.life as Extract<LegLife, { kind: "answers" }>;
  if (patience_ms === null) return;
  const look = () => {
    const left_ms = quietIn();
    if (left_ms === null) return;
    const wait_ms = left_ms * at.pace + patience_ms;
    // Whoever is joined with somebody talks to them.
    const isAlone = (at.bridges.get(leg.bridge ?? "")?.legs.size ?? 0) < 2;
    if (wait_ms > 0) leg.plans.push(at.after(wait_ms, look));
    else if (isAlone) end(at, leg, farEndHungUp());
  };
  look();
}
