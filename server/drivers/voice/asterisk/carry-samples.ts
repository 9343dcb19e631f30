// The samples of a call, over the WebSocket of Asterisk's chan_websocket.
import type { WebSocket } from "ws";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import { openPacer } from "./pace-samples.ts";

const heard_bytes = 20 * bytes_per_ms;
/** Between two looks at what is to be sent. */
const tick_ms = 40;

export type Carrier = {
  readonly media: Omit<CallMedia, "close">;
  /** The connection, which is open; ended at once when it comes too late. */
  use(socket: WebSocket): void;
  /** Of the connection; may be repeated. */
  end(): void;
};

export function carrySamples(): Carrier {
  const pacer = openPacer();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let socket: WebSocket | null = null;
  let ended = false;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;
  let hear: ((samples: Buffer) => void) | null = null;
  let unheard: Buffer = Buffer.alloc(0);
  const pump = () => {
    timer = undefined;
    if (ended || socket === null) return;
    const now_ms = performance.now();
    const samples = isFull ? null : pacer.take(now_ms);
    if (samples !== null) socket.send(samples);
    if (pacer.queued_ms(now_ms) > 0) timer = setTimeout(pump, tick_ms);
  };
  const end = () => {
    ended = true;
    clearTimeout(timer);
    socket?.terminate();
    resolve();
  };
  const take = (data: Buffer, isSamples: boolean) => {
    if (!isSamples) {
      const event = eventIn(data);
      if (event === "MEDIA_XOFF") isFull = true;
      if (event === "MEDIA_XON") isFull = false;
      return;
    }
    if (hear === null || ended) return;
    unheard = unheard.length === 0 ? data : Buffer.concat([unheard, data]);
    for (; unheard.length >= heard_bytes; unheard = unheard.subarray(heard_bytes))
      hear(unheard.subarray(0, heard_bytes));
  };
  return {
    media: {
      listen: (listener) => (hear = listener),
      write(samples) {
        if (ended) return;
        pacer.write(samples);
        if (timer === undefined) pump();
      },
      flush() {
        if (ended) return;
        pacer.flush(performance.now());
        socket?.send(JSON.stringify({ command: "FLUSH_MEDIA" }));
      },
      queued_ms: () => (ended ? 0 : pacer.queued_ms(performance.now())),
      closed,
    },
    use(opened) {
      socket = opened;
      opened.on("message", (data, isBinary) => take(data as Buffer, isBinary));
      opened.on("error", end);
      opened.on("close", end);
      if (ended) opened.terminate();
      else pump();
    },
    end,
  };
}

function eventIn(data: Buffer): unknown {
  try {
    return (JSON.parse(data.toString()) as { event?: unknown } | null)?.event;
  } catch {
    return null;
  }
}
