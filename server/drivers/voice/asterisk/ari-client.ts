// One request to Asterisk's REST interface, and the certainty whether it left this machine. undici's
// `dispatch` is used as it is: only there is it told when a request's first byte is about to be written.
import type { Readable } from "node:stream";
import { Client, Pool, type Dispatcher } from "undici";
import { VoiceError, type VoiceNode } from "../driver.ts";

/** Far below Asterisk's `sessionlimit`, and at 3 ms a request enough for thousands a second. */
const connections_max = 64;
const connect_timeout_ms = 2_000;
/** Below Asterisk's `session_inactivity`, so that a dying connection is seldom written to. */
const keep_alive_ms = 4_000;
const answer_bytes_max = 67_108_864;

export type AriSettings = NonNullable<VoiceNode["ari"]>;
export type AriMethod = "GET" | "POST" | "PUT" | "DELETE";

export type AriAnswer = {
  readonly status: number;
  /** Parsed; null when it was empty or no JSON. */
  readonly body: unknown;
};

export type AriClient = {
  /** The application whose calls it is about. */
  readonly app: string;
  /** Any answer, also one that says no. Throws VoiceError (`unreachable`, `unknown`) when there is none. */
  call(method: AriMethod, path: string, body?: object): Promise<AriAnswer>;
  /** Cuts what is under way, ends all connections. */
  close(): Promise<void>;
};

/** A path below `/ari`; parts and values may hold anything. */
export function ariPath(parts: readonly string[], query: Readonly<Record<string, string>> = {}) {
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join("");
  const asked = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return asked.length === 0 ? path : `${path}?${asked.join("&")}`;
}

/** The header by which Asterisk knows us: in an address, the password would reach logs. */
export function authorization({ user, password }: AriSettings): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/**
 * Talks to one Asterisk; `timeout_ms` limits a whole request, from the queue to the last byte. `mayAct`:
 * see VoiceDriver.open.
 */
export function openAriClient(
  ari: AriSettings,
  timeout_ms: number,
  mayAct: () => boolean = () => true,
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
  return {
    app: ari.app,
    call(method, path, body) {
      const options: Dispatcher.DispatchOptions = {
        path: prefix + path,
        method,
        headers: body === undefined ? headers : with_json,
        body: body === undefined ? null : JSON.stringify(body),
      };
      return exchange(pool, options, timeout_ms, mayAct);
    },
    close: () => pool.destroy(),
  };
}

function exchange(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  timeout_ms: number,
  mayAct: () => boolean,
): Promise<AriAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<AriAnswer>();
  let controller: Dispatcher.DispatchController | null = null;
  let decided = false;
  let status = 0;
  let bytes = 0;
  const chunks: Buffer[] = [];
  const decide = () => {
    if (decided) return false;
    decided = true;
    clearTimeout(timer);
    return true;
  };
  const fail = (why: string, cause?: unknown) => {
    if (!decide()) return;
    const failure = controller === null ? "unreachable" : "unknown";
    const when = controller === null ? "before" : "after";
    reject(new VoiceError(failure, `${why}, ${when} the request was sent`, { cause }));
  };
  const giveUp = (why: string) => {
    fail(why);
    controller?.abort(new Error(why));
  };
  const timer = setTimeout(() => giveUp(`no answer within ${timeout_ms} ms`), timeout_ms);
  pool.dispatch(options, {
    onRequestStart(given) {
      // One that nobody waits for any more must not leave, nor one whose leader was frozen meanwhile.
      if (decided || !mayAct()) given.abort(new Error("given up"));
      else controller = given;
    },
    onResponseStart(_, code) {
      status = code;
    },
    onResponseData(_, chunk) {
      bytes += chunk.length;
      if (bytes <= answer_bytes_max) chunks.push(chunk);
      else giveUp("an answer without end");
    },
    onResponseEnd() {
      if (decide()) resolve({ status, body: parse(Buffer.concat(chunks).toString()) });
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
 * The body of an answer that may be long, null for 404; on a connection of its own, which ends with
 * the stream. Throws VoiceError.
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
    if (statusCode !== 404) throw notDone("reading a file", { status: statusCode, body: null });
  } catch (error) {
    await client.destroy();
    if (error instanceof VoiceError) throw error;
    throw new VoiceError("unreachable", "the file could not be read", { cause: error });
  }
  await client.destroy();
  return null;
}

/** The answer when its status is below 300 or one of `fine`. Throws VoiceError. */
export function expectDone(
  what: string,
  answer: AriAnswer,
  fine: readonly number[] = [],
): AriAnswer {
  if (answer.status < 300 || fine.includes(answer.status)) return answer;
  throw notDone(what, answer);
}

/** A 4xx says no; what any other answer means for what was asked, nobody can say. */
export function notDone(what: string, { status }: AriAnswer): VoiceError {
  const said_no = status >= 400 && status < 500 && status !== 408;
  const failure = said_no ? "refused" : "unknown";
  return new VoiceError(failure, `${what}: the switch answered ${status}`);
}
