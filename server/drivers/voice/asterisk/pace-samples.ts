// When sound that was written is sent on, so that the switch holds a little of it and no more: what it
// holds is what a flush must take back from it, and its queue is not for ever.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";

/** What Asterisk takes, and plays, at a time. */
const frame_bytes = 20 * bytes_per_ms;
/** The switch is given so much more than it has played: a pause of this process is not heard. */
const ahead_ms = 200;

/** Times are milliseconds of one clock that never goes back. */
export type Pacer = {
  write(samples: Buffer): void;
  /** What is to be sent now, whole frames; null: nothing. */
  take(now_ms: number): Buffer | null;
  flush(now_ms: number): void;
  queued_ms(now_ms: number): number;
};

export function openPacer(): Pacer {
  let waiting: Buffer[] = [];
  let waiting_bytes = 0;
  /** When the switch will have played all that it was given. */
  let played_at_ms = -Infinity;
  const aheadAt = (now_ms: number) => Math.max(0, played_at_ms - now_ms);
  return {
    write(samples) {
      if (samples.length === 0) return;
      waiting.push(samples);
      waiting_bytes += samples.length;
    },
    take(now_ms) {
      const room = Math.ceil((ahead_ms - aheadAt(now_ms)) / 20) * frame_bytes;
      if (room <= 0 || waiting_bytes === 0) return null;
      const [first = Buffer.alloc(0)] = waiting;
      const all = waiting.length === 1 ? first : Buffer.concat(waiting);
      const whole = all.length - (all.length % frame_bytes);
      // The beginning of a frame waits for its rest until it is nearly its turn.
      const isLate = aheadAt(now_ms) <= 20;
      const sent = all.subarray(0, Math.min(room, whole > 0 || !isLate ? whole : all.length));
      if (sent.length === 0) return null;
      const rest = all.subarray(sent.length);
      waiting = rest.length === 0 ? [] : [rest];
      waiting_bytes = rest.length;
      const padding = Buffer.alloc((frame_bytes - (sent.length % frame_bytes)) % frame_bytes);
      const taken = padding.length === 0 ? sent : Buffer.concat([sent, padding]);
      played_at_ms = now_ms + aheadAt(now_ms) + taken.length / bytes_per_ms;
      return taken;
    },
    flush(now_ms) {
      waiting = [];
      waiting_bytes = 0;
      played_at_ms = now_ms;
    },
    queued_ms: (now_ms) => aheadAt(now_ms) + waiting_bytes / bytes_per_ms,
  };
}
