// The WebSocket of ARI events, which is reopened whenever it is lost.
import { WebSocket } from "ws";
import type { Random } from "../../../lib/random.ts";
import { authorization, type AriSettings } from "./ari-client.ts";

const handshake_timeout_ms = 3_000;
const first_delay_ms = 50;
const delay_max_ms = 2_000;
const message_bytes_max = 1_048_576;

export type EventStreamHandlers = {
  /** Called for each message once `prepare` has succeeded, including earlier messages of the connection. */
  readonly onMessage: (text: string, at: Date) => void;
  /** Must succeed before a connection is used. */
  readonly prepare: () => Promise<string>;
  /** Called with the result of `prepare`, before any message. */
  readonly onConnected: (prepared: string) => void;
  /** Called when a connection is lost after `onConnected`; `seenAt`: when something last arrived over it. */
  readonly onDisconnected: (seenAt: Date) => void;
  /** Called with the reason at the first failed attempt since the last connection. */
  readonly onUnavailable: (reason: unknown) => void;
};

/**
 * Connects and reconnects until `close`. Terminates a connection that is silent for more than two intervals
 * of `ping_ms`, pings included, because a half-open connection reports no error.
 */
export function openEventStream(
  ari: AriSettings,
  { ping_ms, random }: { readonly ping_ms: number; readonly random: Random },
  handlers: EventStreamHandlers,
) {
  let closed = false;
  let socket: WebSocket | null = null;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  const connect = () => {
    socket = openSocket(ari, ping_ms, handlers, {
      up: () => (failures = 0),
      gone(reason) {
        socket = null;
        if (closed) return;
        if (failures === 0) handlers.onUnavailable(reason);
        const delay_ms = Math.min(delay_max_ms, first_delay_ms * 2 ** Math.min(failures, 10));
        failures += 1;
        timer = setTimeout(connect, delay_ms * (0.5 + random() / 2));
      },
    });
  };
  connect();
  return {
    /** Closes the connection; no handler is called for later messages. */
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
  handlers: EventStreamHandlers,
  { up, gone }: { up(): void; gone(reason: unknown): void },
): WebSocket {
  const query = `app=${encodeURIComponent(ari.app)}&subscribeAll=true`;
  const socket = new WebSocket(`${ari.url.replace(/^http/, "ws")}/events?${query}`, {
    headers: { authorization: authorization(ari) },
    handshakeTimeout: handshake_timeout_ms,
    maxPayload: message_bytes_max,
    perMessageDeflate: false,
  });
  // Messages that arrive before `prepare` has succeeded; null afterwards.
  let early: { text: string; at: Date }[] | null = [];
  let reason: unknown;
  let silent_intervals = 0;
  let seen_at = new Date();
  const pulse = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    silent_intervals += 1;
    if (silent_intervals > 2) {
      reason = new Error("the connection went silent");
      socket.terminate();
    } else socket.ping();
  }, ping_ms);
  const onContact = (at: Date) => {
    silent_intervals = 0;
    seen_at = at;
  };
  socket.on("pong", () => onContact(new Date()));
  socket.on("error", (error) => (reason = error));
  socket.on("message", (data) => {
    const message = { text: (data as Buffer).toString(), at: new Date() };
    onContact(message.at);
    if (early) early.push(message);
    else handlers.onMessage(message.text, message.at);
  });
  const start = async () => {
    const prepared = await handlers.prepare();
    if (socket.readyState !== WebSocket.OPEN) return;
    const buffered = early ?? [];
    early = null;
    up();
    handlers.onConnected(prepared);
    for (const { text, at } of buffered) handlers.onMessage(text, at);
  };
  socket.on("open", () => {
    onContact(new Date());
    start().catch((error: unknown) => {
      reason = error;
      socket.terminate();
    });
  });
  socket.on("close", () => {
    clearInterval(pulse);
    if (early === null) handlers.onDisconnected(seen_at);
    gone(reason);
  });
  return socket;
}
