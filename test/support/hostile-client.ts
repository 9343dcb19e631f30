// Clients that begin a request and do not finish it, or send more than the server reads.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { rawRequest } from "./raw-http.ts";

export type StalledRequest = {
  readonly socket: Socket;
  /** Resolves with what the server sent until it closed the connection: "" for nothing. */
  readonly answer: Promise<string>;
  /** Whether the server has closed the connection. */
  isClosed(): boolean;
};

/** Sends the head of a request that announces `bytes` of body, and the body's beginning; then nothing. */
export function stallRequest(
  url: string,
  line: string,
  options: {
    readonly headers?: Record<string, string>;
    readonly bytes: number;
    readonly beginning: string | Buffer;
    readonly localAddress?: string;
  },
): StalledRequest {
  const { hostname, port } = new URL(url);
  const { localAddress } = options;
  const socket = connect({
    host: hostname,
    port: Number(port),
    ...(localAddress ? { localAddress } : {}),
  });
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let text = "";
  let closed = false;
  socket.on("data", (chunk) => (text += chunk.toString()));
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    resolve(text);
  });
  const headers = {
    "content-length": String(options.bytes),
    connection: "keep-alive",
    ...options.headers,
  };
  socket.write(rawRequest(line, headers));
  socket.write(options.beginning);
  return { socket, answer, isClosed: () => closed };
}

/**
 * Sends a WebSocket handshake with a body, then a byte after the server has ended the connection. Resolves with the
 * answer.
 */
export async function overrunHandshake(url: string, line: string, body = ""): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = "";
  socket.on("data", (chunk) => (text += chunk.toString()));
  socket.on("error", () => {});
  socket.once("end", () => socket.end("x"));
  const headers = {
    connection: "Upgrade, close",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "content-length": String(body.length),
  };
  socket.write(rawRequest(line, headers, body));
  await once(socket, "close");
  return text;
}
