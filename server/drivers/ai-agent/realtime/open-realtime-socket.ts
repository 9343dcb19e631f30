// The WebSocket connection to a server of the Realtime protocol, with limits on queued data.
import { WebSocket } from "ws";

/** A longer message closes the connection. */
const message_bytes_max = 4_194_304;
/** Audio is held back while this much is unsent: about four seconds of G.711. */
const unsent_bytes_max = 65_536;
/** The most chunks held back, half a second of audio; the oldest are dropped first. */
const held_max = 25;
const close_timeout_ms = 1_000;

export type RealtimeSettings = {
  /** A ws: or wss: URL without the model. */
  readonly url: string;
  /** Null: the server requires none. */
  readonly api_key: string | null;
  /** The default; an AI agent may name its own. */
  readonly model: string;
  /** Transcribes what callers say, for the record. */
  readonly transcription_model: string;
};

export type RealtimeSocket = {
  /** Sends an event; does nothing once the connection is closed. */
  readonly send: (event: object) => void;
  /** Sends one chunk of audio in the session's format. */
  readonly sendAudio: (chunk: Buffer) => void;
  /** Returns how many chunks of audio were dropped because the connection was too slow. */
  readonly dropped: () => number;
  /** Stops receiving; resolves once the connection is closed, within about a second. */
  readonly close: () => Promise<void>;
};

/** Connects, within `handshake_ms`. Calls `onLost` once if the connection ends before `close`. */
export function openRealtimeSocket(
  settings: RealtimeSettings & { readonly handshake_ms: number },
  to: { readonly onMessage: (message: string) => void; readonly onLost: (error: unknown) => void },
): RealtimeSocket {
  const url = new URL(settings.url);
  url.searchParams.set("model", settings.model);
  const socket = new WebSocket(url, {
    headers: settings.api_key === null ? {} : { authorization: `Bearer ${settings.api_key}` },
    handshakeTimeout: settings.handshake_ms,
    maxPayload: message_bytes_max,
    perMessageDeflate: false,
  });
  const gone = Promise.withResolvers<void>();
  let isClosed = false;
  let dropped = 0;
  let error: unknown;
  const held: Buffer[] = [];
  const isOpen = () => socket.readyState === WebSocket.OPEN;
  const send = (event: object) => {
    if (isOpen()) socket.send(JSON.stringify(event));
  };
  socket.on("error", (reason) => (error = reason));
  socket.on("close", (code) => {
    gone.resolve();
    if (!isClosed) to.onLost(error ?? new Error(`the server closed the connection (${code})`));
  });
  socket.on("message", (data, isBinary) => {
    if (!isClosed && !isBinary) to.onMessage((data as Buffer).toString());
  });
  return {
    send,
    sendAudio(chunk) {
      held.push(chunk);
      if (held.length > held_max) {
        held.shift();
        dropped += 1;
      }
      while (held.length > 0 && isOpen() && socket.bufferedAmount <= unsent_bytes_max) {
        const audio = held.shift()!.toString("base64");
        send({ type: "input_audio_buffer.append", audio });
      }
    },
    dropped: () => dropped,
    async close() {
      if (!isClosed) {
        isClosed = true;
        // A server that does not answer the close frame is disconnected.
        const timer = setTimeout(() => socket.terminate(), close_timeout_ms).unref();
        socket.once("close", () => clearTimeout(timer));
        socket.close(1000);
      }
      await gone.promise;
    },
  };
}
