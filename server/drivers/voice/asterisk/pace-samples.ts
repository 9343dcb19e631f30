// Paces written audio so that the switch buffers only a little of it: its queue is limited, and a flush
// has to discard what it holds.
import { bytes_per_ms } from "../../../lib/audio/audio.ts";

/** Asterisk receives and plays frames of 20 ms. */
const frame_bytes = 20 * bytes_per_ms;
/** How far the switch is kept ahead of playback, so that a pause of this process is inaudible. */
const ahead_ms = 200;

/** Times are milliseconds of a monotonic clock. */
export type Pacer = {
  write(samples: Buffer): void;
  /** Returns the whole frames to send now, or null. */
  take(now_ms: number): Buffer | null;
  flush(now_ms: number): void;
  queued_ms(now_ms: number): number;
};

/** Opens a pacer with an empty queue. */
export function openPacer(): Pacer {
  let waiting: Buffer[] = [];
  let waiting_bytes = 0;
  /** When the switch will have played everything it received. */
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
      // An incomplete frame waits for its remainder until it is nearly due.
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
