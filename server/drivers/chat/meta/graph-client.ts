// One request to the Graph API, and the certainty whether it left this machine. undici's `dispatch`
// is used as it is: only there is it told when a request's first byte is about to be written.
import { Pool, type Dispatcher } from "undici";
import { user_agent } from "../../../lib/user-agent.ts";
import { ChatSendError } from "../driver.ts";
import { classifyAnswer, type GraphAnswer } from "./classify-answer.ts";
import type { JsonRecord } from "./json.ts";

const connections_max = 512;
const connect_timeout_ms = 10_000;
/** Below the idle limits of common load balancers, so that a dying connection is seldom written to. */
const keep_alive_ms = 4_000;
const answer_bytes_max = 8_388_608;

export type GraphRequest = {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the API's address, with a leading slash. */
  readonly path: string;
  readonly body?: string | Buffer;
  /** Of the body; JSON unless said. */
  readonly content_type?: string;
  /** Instead of the client's own limit. */
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal | undefined;
  /** By performance.now(): its first byte is not written later; until the end unless given. */
  readonly begin_by_ms?: number | undefined;
};

export type GraphClient = {
  /** The parsed body of an answer that says yes. Throws ChatSendError and nothing else. */
  call(request: GraphRequest): Promise<JsonRecord>;
  /** Cuts what is under way, ends all connections. */
  close(): Promise<void>;
};

/** Talks to the API at `api_url` as the holder of `access_token`; `timeout_ms` limits a whole call. */
export function openGraphClient(settings: {
  api_url: string;
  access_token: string;
  timeout_ms: number;
}): GraphClient {
  const { origin, pathname } = new URL(settings.api_url);
  const prefix = pathname.replace(/\/+$/, "");
  const pool = new Pool(origin, {
    connections: connections_max,
    pipelining: 1,
    keepAliveTimeout: keep_alive_ms,
    // Over HTTP/2 a request that a closing connection did not take may be sent again unasked.
    allowH2: false,
    connect: { timeout: Math.min(connect_timeout_ms, settings.timeout_ms) },
    // Each call has one timer of its own, over everything from the queue to the last byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const known = ["user-agent", user_agent, "authorization", `Bearer ${settings.access_token}`];
  const jsonHeaders = [...known, "content-type", "application/json"];
  return {
    async call(request) {
      const { body, content_type } = request;
      const headers =
        content_type === undefined ? jsonHeaders : [...known, "content-type", content_type];
      const options: Dispatcher.DispatchOptions = {
        path: prefix + request.path,
        method: request.method,
        headers: body === undefined ? known : headers,
        body: body ?? null,
      };
      const timeout_ms = request.timeout_ms ?? settings.timeout_ms;
      const { signal, begin_by_ms = Infinity } = request;
      return exchange(pool, options, openFate(timeout_ms, begin_by_ms, signal));
    },
    close: () => pool.destroy(),
  };
}

function exchange(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  fate: Fate,
): Promise<JsonRecord> {
  let status = 0;
  let retry_after: string | null = null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: fate.leave,
    onResponseStart(_, code, headers) {
      status = code;
      const header = headers["retry-after"];
      retry_after = typeof header === "string" ? header : null;
    },
    onResponseData(_, chunk) {
      bytes += chunk.length;
      if (bytes <= answer_bytes_max) chunks.push(chunk);
      else fate.giveUp("an answer without end");
    },
    onResponseEnd() {
      const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
      fate.answer({ status, retry_after, text });
    },
    onResponseError(_, error) {
      fate.fail("the connection failed", error);
    },
  };
  try {
    if (!fate.isDecided()) pool.dispatch(options, handler);
  } catch (error) {
    fate.fail("the request could not be made", error);
  }
  return fate.promise;
}

type Fate = ReturnType<typeof openFate>;

/** How one call ends: decided once, by the answer, the connection, the clock or the caller. */
function openFate(timeout_ms: number, begin_by_ms: number, signal: AbortSignal | undefined) {
  const { promise, resolve, reject } = Promise.withResolvers<JsonRecord>();
  let controller: Dispatcher.DispatchController | null = null;
  let decided = false;
  const decide = (): boolean => {
    if (decided) return false;
    decided = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    return true;
  };
  const fail = (why: string, cause?: unknown) => {
    if (!decide()) return;
    const [failure, when] =
      controller === null ? (["unreachable", "before"] as const) : (["unknown", "after"] as const);
    reject(new ChatSendError(failure, `${why}, ${when} the request was sent`, { cause }));
  };
  const giveUp = (why: string) => {
    fail(why);
    controller?.abort(new Error(why));
  };
  const cancel = () => giveUp("the caller gave up");
  const timer = setTimeout(() => giveUp(`no answer within ${timeout_ms} ms`), timeout_ms);
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted) cancel();
  return {
    promise,
    isDecided: () => decided,
    fail,
    giveUp,
    /** The first byte is about to be written; one that nobody waits for any more must not leave. */
    leave(given: Dispatcher.DispatchController) {
      if (performance.now() > begin_by_ms) fail("no connection was free in time");
      if (decided) given.abort(new Error("given up"));
      else controller = given;
    },
    answer(answer: GraphAnswer) {
      if (!decide()) return;
      try {
        resolve(classifyAnswer(answer));
      } catch (error) {
        reject(error);
      }
    },
  };
}
