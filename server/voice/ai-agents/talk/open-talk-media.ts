// The media of a person who talks to an AI agent over a WebSocket: binary frames of samples, both ways.
import type { WebSocket } from "ws";
import type { PreparedConversation } from "../../../drivers/ai-agent/driver.ts";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { Timers } from "../../../lib/timers.ts";

const chunk_bytes = 20 * bytes_per_ms;
/** How much faster than real time audio may arrive, for a microphone that starts with a full buffer. */
const ahead_ms_max = 5_000;
/** Audio that a client does not read in time. */
const unread_bytes_max = 8_388_608;

type CallMedia = Parameters<PreparedConversation["start"]>[0];

export type TalkMedia = CallMedia & {
  /** Passes on the person's audio. Returns false if it arrives faster than anybody speaks. */
  readonly receive: (samples: Buffer) => boolean;
  /** The person has hung up. */
  readonly end: () => void;
};

/**
 * Opens the media. The client plays audio as it arrives, so its playback is computed instead of reported; `flush` is
 * called for what the client has to discard.
 */
export function openTalkMedia(socket: WebSocket, timers: Timers, flushed: () => void): TalkMedia {
  const began_ms = timers.now();
  const closed = Promise.withResolvers<void>();
  let isClosed = false;
  let listener: (samples: Buffer) => void = () => {};
  let rest = Buffer.alloc(0);
  let received_bytes = 0;
  let played_until_ms = began_ms;
  const queued_ms = () => Math.max(0, played_until_ms - timers.now());
  const end = () => {
    isClosed = true;
    closed.resolve();
  };
  return {
    listen: (onSamples) => void (listener = onSamples),
    write(samples) {
      if (isClosed) return;
      if (socket.bufferedAmount > unread_bytes_max) return socket.terminate();
      played_until_ms = timers.now() + queued_ms() + samples.length / bytes_per_ms;
      socket.send(samples);
    },
    flush() {
      if (isClosed || queued_ms() === 0) return;
      played_until_ms = timers.now();
      flushed();
    },
    queued_ms,
    close: async () => end(),
    closed: closed.promise,
    receive(samples) {
      received_bytes += samples.length;
      const allowed_ms = timers.now() - began_ms + ahead_ms_max;
      if (received_bytes > allowed_ms * bytes_per_ms) return false;
      rest = Buffer.concat([rest, samples]);
      for (; rest.length >= chunk_bytes; rest = rest.subarray(chunk_bytes))
        listener(rest.subarray(0, chunk_bytes));
      return true;
    },
    end,
  };
}
