import type { CallMedia } from "../../server/drivers/call-media.ts";
import { bytes_per_ms } from "../../server/lib/audio/audio.ts";
import type { ManualTimers } from "../../server/lib/timers.ts";

const chunk_ms = 20;

export type ScriptedMedia = CallMedia & {
  /** The audio played so far. */
  played(): Buffer;
  /** The number of flushes that cut off queued audio. */
  cuts(): number;
  isClosed(): boolean;
  /** Sends this audio as the caller and advances the clock by its duration. */
  sendAudio(samples: Buffer): void;
  /** The caller hangs up. */
  end(): void;
};

/** Opens a caller's media on the test's clock: written audio plays as the clock advances. */
export function openScriptedMedia(time: ManualTimers): ScriptedMedia {
  const ended = Promise.withResolvers<void>();
  let isClosed = false;
  let listener: (samples: Buffer) => void = () => {};
  let queue = Buffer.alloc(0);
  const played_chunks: Buffer[] = [];
  let played_until = time.timers.now();
  let cuts = 0;
  const play = () => {
    const now = time.timers.now();
    const bytes = Math.min(queue.length, Math.floor((now - played_until) * bytes_per_ms));
    played_until = now;
    if (bytes > 0) played_chunks.push(queue.subarray(0, bytes));
    queue = queue.subarray(bytes);
  };
  const end = () => {
    play();
    isClosed = true;
    queue = Buffer.alloc(0);
    ended.resolve();
  };
  return {
    listen: (onSamples) => void (listener = onSamples),
    write(samples) {
      play();
      if (!isClosed) queue = Buffer.concat([queue, samples]);
    },
    flush() {
      play();
      if (queue.length > 0) cuts += 1;
      queue = Buffer.alloc(0);
    },
    queued_ms() {
      play();
      return queue.length / bytes_per_ms;
    },
    close: async () => end(),
    closed: ended.promise,
    played() {
      play();
      return Buffer.concat(played_chunks);
    },
    cuts: () => cuts,
    isClosed: () => isClosed,
    sendAudio(samples) {
      const bytes = chunk_ms * bytes_per_ms;
      for (let at = 0; at < samples.length; at += bytes) {
        if (!isClosed) listener(samples.subarray(at, at + bytes));
        time.advance(chunk_ms);
      }
    },
    end,
  };
}
