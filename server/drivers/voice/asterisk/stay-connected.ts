// The WebSocket over which Asterisk tells what happens: made again, for ever, whenever it is lost.
import { WebSocket } from "ws";
import type { Random } from "../../../lib/random.ts";
import { authorization, type AriSettings } from "./ari-client.ts";

const handshake_timeout_ms = 3_000;
const first_delay_ms = 50;
const delay_max_ms = 2_000;
const message_bytes_max = 1_048_576;

export type Connection = {
  /** Of each message that it brings, from the moment when `prepare` succeeded, with what came before. */
  readonly hear: (text: string, at: Date) => void;
  /** What must succeed before a connection counts. */
  readonly prepare: () => Promise<string>;
  /** With what `prepare` found; messages follow. */
  readonly connected: (prepared: string) => void;
  /** After `connected`. */
  readonly disconnected: () => void;
  /** Before the first connection, or between two: why there is none, once for each gap. */
  readonly waiting: (why: unknown) => void;
};

/**
 * Connects and stays so until `close`. A connection that says nothing for two rounds of `ping_ms`, not
 * even to a ping, is given up: one that is half open tells nothing of its own accord.
 */
export function stayConnected(
  ari: AriSettings,
  { ping_ms, random }: { readonly ping_ms: number; readonly random: Random },
  to: Connection,
) {
  let closed = false;
  let socket: WebSocket | null = null;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  const connect = () => {
    socket = openSocket(ari, ping_ms, to, {
      up: () => (failures = 0),
      gone(why) {
        socket = null;
        if (closed) return;
        if (failures === 0) to.waiting(why);
        const delay_ms = Math.min(delay_max_ms, first_delay_ms * 2 ** Math.min(failures, 10));
        failures += 1;
        timer = setTimeout(connect, delay_ms * (0.5 + random() / 2));
      },
    });
  };
  connect();
  return {
    /** Nothing is heard any more. */
    close() {
      closed = true;
      clearTimeout(timer);
      socket?.terminate();
    },
  };
}

function openSocket(
  ari: AriSettings,
  ping_ms: number,
  to: Connection,
  { up, gone }: { up(): void; gone(why: unknown): void },
): WebSocket {
  const query = `app=${encodeURIComponent(ari.app)}&subscribeAll=true`;
  const socket = new WebSocket(`${ari.url.replace(/^http/, "ws")}/events?${query}`, {
    headers: { authorization: authorization(ari) },
    handshakeTimeout: handshake_timeout_ms,
    maxPayload: message_bytes_max,
    perMessageDeflate: false,
  });
  // What came before the connection counts; null once it does.
  let early: { text: string; at: Date }[] | null = [];
  let why: unknown;
  let quiet_rounds = 0;
  const pulse = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    quiet_rounds += 1;
    if (quiet_rounds > 2) {
      why = new Error("the connection went silent");
      socket.terminate();
    } else socket.ping();
  }, ping_ms);
  socket.on("pong", () => (quiet_rounds = 0));
  socket.on("error", (error) => (why = error));
  socket.on("message", (data) => {
    quiet_rounds = 0;
    const message = { text: (data as Buffer).toString(), at: new Date() };
    if (early) early.push(message);
    else to.hear(message.text, message.at);
  });
  const begin = async () => {
    const prepared = await to.prepare();
    if (socket.readyState !== WebSocket.OPEN) return;
    const missed = early ?? [];
    early = null;
    up();
    to.connected(prepared);
    for (const { text, at } of missed) to.hear(text, at);
  };
  socket.on("open", () => {
    begin().catch((error: unknown) => {
      why = error;
      socket.terminate();
    });
  });
  socket.on("close", () => {
    clearInterval(pulse);
    if (early === null) to.disconnected();
    gone(why);
  });
  return socket;
}
