// The connection to a server of the Realtime protocol, and how much may wait on it.
import { WebSocket } from "ws";

/** A server that sends more in one message is not listened to. */
const message_bytes_max = 4_194_304;
/** Sound is held back while so much waits to be sent: some four seconds of G.711. */
const unsent_bytes_max = 65_536;
/** Of the sound that is held back the oldest goes first: it is half a second of it. */
const held_max = 25;
const goodbye_ms = 1_000;

export type RealtimeSettings = {
  /** ws: or wss:, without the model. */
  readonly url: string;
  /** Null: the server wants none. */
  readonly api_key: string | null;
  /** Unless an agent names its own. */
  readonly model: string;
};

export type RealtimeSocket = {
  /** Does nothing once the connection is gone. */
  readonly send: (event: object) => void;
  /** Sound in the session's format, one chunk. */
  readonly sendSound: (sound: Buffer) => void;
  /** Chunks of sound that went nowhere because the connection was too slow. */
  readonly dropped: () => number;
  /** Nothing is heard any more; resolves when it is closed, within about a second. */
  readonly close: () => Promise<void>;
};

/** Connects; `lost` is told once, and not after `close`. `handshake_ms` limits the connecting. */
export function openRealtimeSocket(
  settings: RealtimeSettings & { readonly handshake_ms: number },
  to: { readonly heard: (message: string) => void; readonly lost: (why: unknown) => void },
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
  let why: unknown;
  const held: Buffer[] = [];
  const isOpen = () => socket.readyState === WebSocket.OPEN;
  const send = (event: object) => {
    if (isOpen()) socket.send(JSON.stringify(event));
  };
  socket.on("error", (error) => (why = error));
  socket.on("close", (code) => {
    gone.resolve();
    if (!isClosed) to.lost(why ?? new Error(`the server closed the connection (${code})`));
  });
  socket.on("message", (data, isBinary) => {
    if (!isClosed && !isBinary) to.heard((data as Buffer).toString());
  });
  return {
    send,
    sendSound(sound) {
      held.push(sound);
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
        // A server that never says goodbye is left without one.
        const timer = setTimeout(() => socket.terminate(), goodbye_ms).unref();
        socket.once("close", () => clearTimeout(timer));
        socket.close(1000);
      }
      await gone.promise;
    },
  };
}
