// Sends and receives a call's samples over the WebSocket of Asterisk's chan_websocket.
import type { WebSocket } from "ws";
import { bytes_per_ms } from "../../../lib/audio/audio.ts";
import type { CallMedia } from "../../call-media.ts";
import { openPacer } from "./pace-samples.ts";

const frame_bytes = 20 * bytes_per_ms;
/** How often queued samples are sent. */
const send_interval_ms = 40;

export type SampleStream = {
  readonly media: Omit<CallMedia, "close">;
  /** Uses an open connection; closes it immediately when the stream has ended. */
  attach(socket: WebSocket): void;
  /** Ends the stream and its connection. May be called repeatedly. */
  end(): void;
};

/** Opens a stream without a connection; samples written before `attach` are queued. */
export function openSampleStream(): SampleStream {
  const pacer = openPacer();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let socket: WebSocket | null = null;
  let ended = false;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;
  let listener: ((samples: Buffer) => void) | null = null;
  let pending: Buffer = Buffer.alloc(0);
  const sendDue = () => {
    timer = undefined;
    if (ended || socket === null) return;
    const now_ms = performance.now();
    const samples = isFull ? null : pacer.take(now_ms);
    if (samples !== null) socket.send(samples);
    if (pacer.queued_ms(now_ms) > 0) timer = setTimeout(sendDue, send_interval_ms);
  };
  const end = () => {
    ended = true;
    clearTimeout(timer);
    socket?.terminate();
    resolve();
  };
  const receive = (data: Buffer, isSamples: boolean) => {
    if (!isSamples) {
      const event = eventIn(data);
      if (event === "MEDIA_XOFF") isFull = true;
      if (event === "MEDIA_XON") isFull = false;
      return;
    }
    if (listener === null || ended) return;
    pending = pending.length === 0 ? data : Buffer.concat([pending, data]);
    for (; pending.length >= frame_bytes; pending = pending.subarray(frame_bytes))
      listener(pending.subarray(0, frame_bytes));
  };
  return {
    media: {
      listen: (given) => (listener = given),
      write(samples) {
        if (ended) return;
        pacer.write(samples);
        if (timer === undefined) sendDue();
      },
      flush() {
        if (ended) return;
        pacer.flush(performance.now());
        socket?.send(JSON.stringify({ command: "FLUSH_MEDIA" }));
      },
      queued_ms: () => (ended ? 0 : pacer.queued_ms(performance.now())),
      closed,
    },
    attach(opened) {
      socket = opened;
      opened.on("message", (data, isBinary) => receive(data as Buffer, isBinary));
      opened.on("error", end);
      opened.on("close", end);
      if (ended) opened.terminate();
      else sendDue();
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
