// HTTP requests to ARI that know whether they were sent. This uses undici's low-level `dispatch`, the only
// API that reports when the first byte of a request is about to be written.
import type { Readable } from "node:stream";
import { Client, Pool, type Dispatcher } from "undici";
import { pathTemplate, tracedRequest } from "../../../lib/tracing/traced-request.ts";
import { VoiceError, type VoiceNode } from "../driver.ts";
import { openChannelAliases, type ChannelAliases } from "./channel-aliases.ts";

/**
 * Far below Asterisk's `sessionlimit`, also with the streams of recordings, which whoever reads them limits; at 3 ms per
 * request, enough for thousands per second.
 */
const connections_max = 64;
const connect_timeout_ms = 2_000;
/** Below Asterisk's `session_inactivity`, so that requests rarely hit a closing connection. */
const keep_alive_ms = 4_000;
const response_bytes_max = 67_108_864;

export type AriSettings = NonNullable<VoiceNode["ari"]>;
export type AriMethod = "GET" | "POST" | "PUT" | "DELETE";

export type AriResponse = {
  readonly status: number;
  /** The parsed JSON; null when the body is empty or not JSON. */
  readonly body: unknown;
};

export type AriClient = {
  /** The ARI application. */
  readonly app: string;
  /** Legs whose channels have IDs of the switch; paths may name such a channel by its leg's ID. */
  readonly aliases: ChannelAliases;
  /** Returns the response, whatever its status. Throws VoiceError (`unreachable`, `unknown`) without one. */
  call(method: AriMethod, path: string, body?: object): Promise<AriResponse>;
  /** Aborts pending requests and closes all connections. */
  close(): Promise<void>;
};

/** Builds a path below `/ari`; escapes parts and values. */
export function ariPath(parts: readonly string[], query: Readonly<Record<string, string>> = {}) {
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join("");
  const params = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return params.length === 0 ? path : `${path}?${params.join("&")}`;
}

/** Returns the `Authorization` header; credentials in a URL would appear in logs. */
export function authorization({ user, password }: AriSettings): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/**
 * Opens a client for one Asterisk. `timeout_ms` limits a whole request, from the queue to the last byte
 * of the response. `maySend`: see VoiceDriver.open.
 */
export function openAriClient(
  ari: AriSettings,
  timeout_ms: number,
  maySend: () => boolean = () => true,
): AriClient {
  const { origin, pathname } = new URL(ari.url);
  const prefix = pathname.replace(/\/+$/, "");
  const pool = new Pool(origin, {
    connections: connections_max,
    pipelining: 1,
    keepAliveTimeout: keep_alive_ms,
    allowH2: false,
    connect: { timeout: Math.min(connect_timeout_ms, timeout_ms) },
    // Each request has one timer of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const headers = ["authorization", authorization(ari)];
  const with_json = [...headers, "content-type", "application/json"];
  const aliases = openChannelAliases();
  return {
    app: ari.app,
    aliases,
    call(method, path, body) {
      const options: Dispatcher.DispatchOptions = {
        path: prefix + aliases.toSwitch(path),
        method,
        headers: body === undefined ? headers : with_json,
        body: body === undefined ? null : JSON.stringify(body),
      };
      return tracedRequest(
        { method, url: origin, template: pathTemplate(path) },
        async (onStatus) => {
          const response = await exchange(pool, options, timeout_ms, maySend);
          onStatus(response.status);
          return response;
        },
      );
    },
    close: () => pool.destroy(),
  };
}

function exchange(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  timeout_ms: number,
  maySend: () => boolean,
): Promise<AriResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<AriResponse>();
  let controller: Dispatcher.DispatchController | null = null;
  let settled = false;
  let status = 0;
  let bytes = 0;
  const chunks: Buffer[] = [];
  const settle = () => {
    if (settled) return false;
    settled = true;
    clearTimeout(timer);
    return true;
  };
  const fail = (reason: string, cause?: unknown) => {
    if (!settle()) return;
    const failure = controller === null ? "unreachable" : "unknown";
    const when = controller === null ? "before" : "after";
    reject(new VoiceError(failure, `${reason}, ${when} the request was sent`, { cause }));
  };
  const giveUp = (reason: string) => {
    fail(reason);
    controller?.abort(new Error(reason));
  };
  const timer = setTimeout(() => giveUp(`no response within ${timeout_ms} ms`), timeout_ms);
  pool.dispatch(options, {
    onRequestStart(given) {
      // Do not send a request that has timed out, or whose leader lost its lease while frozen.
      if (settled || !maySend()) given.abort(new Error("not sent"));
      else controller = given;
    },
    onResponseStart(_, code) {
      status = code;
    },
    onResponseData(_, chunk) {
      bytes += chunk.length;
      if (bytes <= response_bytes_max) chunks.push(chunk);
      else giveUp("the response is too large");
    },
    onResponseEnd() {
      if (settle()) resolve({ status, body: parse(Buffer.concat(chunks).toString()) });
    },
    onResponseError: (_, error) => fail("the connection failed", error),
  });
  return promise;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Streams the body of a response; null for 404. The stream has its own connection, which closes with it, and which
 * counts for Asterisk's `sessionlimit`: limit how many are open. Throws VoiceError.
 */
export async function readStream(
  ari: AriSettings,
  path: string,
  timeout_ms: number,
): Promise<Readable | null> {
  const { origin, pathname } = new URL(ari.url);
  const client = new Client(origin, {
    connect: { timeout: Math.min(connect_timeout_ms, timeout_ms) },
    headersTimeout: timeout_ms,
    bodyTimeout: timeout_ms,
  });
  try {
    const { statusCode, body } = await client.request({
      path: pathname.replace(/\/+$/, "") + path,
      method: "GET",
      headers: { authorization: authorization(ari) },
    });
    if (statusCode === 200) {
      body.once("close", () => void client.destroy());
      return body;
    }
    if (statusCode !== 404)
      throw responseError("reading a file", { status: statusCode, body: null });
  } catch (error) {
    await client.destroy();
    if (error instanceof VoiceError) throw error;
    throw new VoiceError("unreachable", "could not read the file", { cause: error });
  }
  await client.destroy();
  return null;
}

/** Returns the response when its status is below 300 or in `accepted`; otherwise throws VoiceError. */
export function expectSuccess(
  operation: string,
  response: AriResponse,
  accepted: readonly number[] = [],
): AriResponse {
  if (response.status < 300 || accepted.includes(response.status)) return response;
  throw responseError(operation, response);
}

/** Returns the error for a status: `refused` for a 4xx except 408, otherwise `unknown`. */
export function responseError(operation: string, { status }: AriResponse): VoiceError {
  const isRefused = status >= 400 && status < 500 && status !== 408;
  const failure = isRefused ? "refused" : "unknown";
  return new VoiceError(failure, `${operation}: the switch returned ${status}`);
}

/** Whether a field of the response's body has this text. */
export function bodyHas({ body }: AriResponse, field: "error" | "message", text: string): boolean {
  return (body as { error?: unknown; message?: unknown } | null)?.[field] === text;
}
