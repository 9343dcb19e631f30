// Sends HTTP as bytes on a socket, for requests that no regular client sends.
import { connect } from "node:net";

export type RawResponse = {
  readonly status: number;
  /** By lower-case name; the last value of a repeated header. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

/**
 * Writes `parts` one after another and reads until the server closes the connection, or until
 * `patience_ms` after the last byte. Returns null without a response.
 */
export async function sendRaw(
  url: string,
  parts: readonly (string | Buffer)[],
  options: { patience_ms?: number } = {},
): Promise<RawResponse | null> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const end = () => resolve(Buffer.concat(chunks));
  const socket = connect(Number(port), hostname);
  socket.setTimeout(options.patience_ms ?? 120_000, end);
  socket.on("data", (chunk) => chunks.push(chunk));
  // A server that refuses a request early resets the connection after its response.
  socket.on("error", (error: Error & { code?: string }) =>
    error.code === "ECONNREFUSED" ? reject(error) : end(),
  );
  socket.on("close", end);
  for (const part of parts) socket.write(part);
  try {
    return readResponse(await promise);
  } finally {
    socket.destroy();
  }
}

/** Returns a request as text, with the Host header that HTTP requires. */
export function rawRequest(
  line: string,
  headers: Readonly<Record<string, string>> = {},
  body = "",
): string {
  const all = { host: "127.0.0.1", connection: "close", ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

function readResponse(bytes: Buffer): RawResponse | null {
  const text = bytes.toString("latin1");
  const split = text.indexOf("\r\n\r\n");
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
  if (status === undefined || split < 0) return null;
  const headers = text
    .slice(0, split)
    .split("\r\n")
    .slice(1)
    .map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    });
  return {
    status: Number(status),
    headers: new Map(headers),
    text: bytes.subarray(split + 4).toString(),
  };
}
