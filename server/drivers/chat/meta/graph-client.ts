// Sends requests to the Graph API and knows whether each one left this machine. Uses undici's `dispatch`, because only
// it reports when a request's first byte is about to be written.
import { Pool, type Dispatcher } from "undici";
import { pathTemplate, tracedRequest } from "../../../lib/tracing/traced-request.ts";
import { user_agent } from "../../../lib/user-agent.ts";
import { ChatSendError } from "../driver.ts";
import { classifyResponse, type GraphResponse } from "./classify-response.ts";
import { openConnectionShares } from "./connection-shares.ts";
import type { JsonRecord } from "./json.ts";

/** A business account alone may use 1,024 of them. */
const connections_max = 1_152;
const connect_timeout_ms = 10_000;
/** Shorter than the idle timeouts of common load balancers, so that requests rarely meet a closing connection. */
const keep_alive_ms = 4_000;
const answer_bytes_max = 8_388_608;

export type GraphRequest = {
  /** Whose share of the connections it uses. */
  readonly business_account_id: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below the API's URL, with a leading slash. */
  readonly path: string;
  readonly body?: string | Buffer;
  /** The type of the body; JSON by default. */
  readonly content_type?: string;
  /** Overrides the client's limit. */
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal | undefined;
  /** By performance.now(): the latest time to write the first byte; `late` after that. No limit by default. */
  readonly begin_by_ms?: number | undefined;
};

export type GraphClient = {
  /** Returns the parsed body of a successful response. Throws only ChatSendError. */
  call(request: GraphRequest): Promise<JsonRecord>;
};

export type GraphApi = {
  /** Returns a client with this access token; all of them use the same connections. */
  clientWith(access_token: string): GraphClient;
  /** Aborts requests in flight and closes all connections. */
  close(): Promise<void>;
};

/** Opens the API at `api_url`; `timeout_ms` limits a whole call. */
export function openGraphApi(settings: { api_url: string; timeout_ms: number }): GraphApi {
  const { origin, pathname } = new URL(settings.api_url);
  const prefix = pathname.replace(/\/+$/, "");
  const pool = new Pool(origin, {
    connections: connections_max,
    pipelining: 1,
    keepAliveTimeout: keep_alive_ms,
    // Over HTTP/2, undici may resend a request that a closing connection did not process.
    allowH2: false,
    connect: { timeout: Math.min(connect_timeout_ms, settings.timeout_ms) },
    // Each call has one timer, from the queue to the last byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const shares = openConnectionShares(connections_max);
  const call =
    (known: readonly string[]): GraphClient["call"] =>
    async (request) => {
      const { body, content_type } = request;
      const headers =
        body === undefined ? known : [...known, "content-type", content_type ?? "application/json"];
      const options: Dispatcher.DispatchOptions = {
        path: prefix + request.path,
        method: request.method,
        headers: [...headers],
        body: body ?? null,
      };
      const timeout_ms = request.timeout_ms ?? settings.timeout_ms;
      const { signal, begin_by_ms = Infinity } = request;
      const { method, path } = request;
      return tracedRequest({ method, url: origin, template: pathTemplate(path) }, (onStatus) => {
        const outcome = openOutcome(timeout_ms, begin_by_ms, signal);
        shares.request(request.business_account_id, () => {
          if (!outcome.mayBegin()) return null;
          exchange(pool, options, outcome, onStatus);
          return outcome.promise;
        });
        return outcome.promise;
      });
    };
  return {
    clientWith: (access_token) => ({
      call: call(["user-agent", user_agent, "authorization", `Bearer ${access_token}`]),
    }),
    close: () => pool.destroy(),
  };
}

function exchange(
  pool: Pool,
  options: Dispatcher.DispatchOptions,
  outcome: Outcome,
  onStatus: (status: number) => void,
): void {
  let status = 0;
  let retry_after: string | null = null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: outcome.start,
    onResponseStart(_, code, headers) {
      status = code;
      onStatus(code);
      const header = headers["retry-after"];
      retry_after = typeof header === "string" ? header : null;
    },
    onResponseData(_, chunk) {
      bytes += chunk.length;
      if (bytes <= answer_bytes_max) chunks.push(chunk);
      else outcome.abort("the response exceeded the size limit");
    },
    onResponseEnd() {
      const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
      outcome.answer({ status, retry_after, text });
    },
    onResponseError(_, error) {
      outcome.fail("the connection failed", error);
    },
  };
  try {
    pool.dispatch(options, handler);
  } catch (error) {
    outcome.fail("the request could not be made", error);
  }
}

type Outcome = ReturnType<typeof openOutcome>;

/** Decides the outcome of a call once: by the response, the connection, the time limit or the caller. */
function openOutcome(timeout_ms: number, begin_by_ms: number, signal: AbortSignal | undefined) {
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
  const fail = (reason: string, cause?: unknown) => {
    if (!decide()) return;
    const [failure, when] =
      controller === null ? (["unreachable", "before"] as const) : (["unknown", "after"] as const);
    reject(new ChatSendError(failure, `${reason}, ${when} the request was sent`, { cause }));
  };
  const mayBegin = (): boolean => {
    if (performance.now() > begin_by_ms && decide())
      reject(new ChatSendError("late", "no connection was free in time"));
    return !decided;
  };
  const abort = (reason: string) => {
    fail(reason);
    controller?.abort(new Error(reason));
  };
  const cancel = () => abort("the caller aborted the request");
  const timer = setTimeout(() => abort(`no response within ${timeout_ms} ms`), timeout_ms);
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted) cancel();
  return {
    promise,
    /** Whether it is undecided and still in time. */
    mayBegin,
    fail,
    abort,
    /** Runs just before the first byte is written; aborts a request whose outcome is already decided. */
    start(given: Dispatcher.DispatchController) {
      if (mayBegin()) controller = given;
      else given.abort(new Error("aborted"));
    },
    answer(answer: GraphResponse) {
      if (!decide()) return;
      try {
        resolve(classifyResponse(answer));
      } catch (error) {
        reject(error);
      }
    },
  };
}
