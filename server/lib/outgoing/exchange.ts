// One request and its response, ended by the first of: the response's end, its limits, the connection, the
// timeout or the caller. Once the status is known, that is the result.
import type { Dispatcher } from "undici";
import { explainFailure } from "./explain-failure.ts";
import { OutgoingError, type OutgoingResponse, type OutgoingRequest } from "./outgoing-http.ts";

/** Limit of a body that is read, so that its connection can be reused. */
const body_bytes_max = 65_536;
const text_characters_max = 4_096;
/** UTF-8 uses at most four bytes per character. */
const kept_bytes_max = 4 * text_characters_max;
/** How long a body may take after the status. */
const body_ms_max = 1_000;

/** Sends one request. Throws only OutgoingError; `signal` aborts it. */
export function exchange(
  dispatcher: Dispatcher,
  request: OutgoingRequest,
  signals: readonly AbortSignal[],
): Promise<OutgoingResponse> {
  const url = new URL(request.url);
  const answer = openResponse(request.timeout_ms, signals);
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: answer.begin,
    onResponseStart(_, status, headers) {
      // A lower status is interim: the response is still to come.
      if (status >= 200) answer.takeStatus(status, headers["retry-after"]);
    },
    onResponseData: (_, chunk) => answer.takeBytes(chunk),
    onResponseEnd: () => answer.end(),
    onResponseError: (_, error) => answer.fail(() => explainFailure(error)),
  };
  const { method, headers, body } = request;
  try {
    if (!answer.isDecided())
      dispatcher.dispatch(
        { origin: url.origin, path: url.pathname + url.search, method, headers, body },
        handler,
      );
  } catch (error) {
    answer.fail(() => explainFailure(error));
  }
  return answer.promise;
}

/** Decides the result of one exchange, once. */
function openResponse(timeout_ms: number, signals: readonly AbortSignal[]) {
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingResponse>();
  let controller: Dispatcher.DispatchController | null = null;
  let known: { status: number; retry_after: string | null } | null = null;
  let decided = false;
  let bytes = 0;
  const kept: Buffer[] = [];
  const began = performance.now();
  /** Returns what is known by now, else the error. */
  const decide = (error: () => OutgoingError) => {
    if (decided) return;
    decided = true;
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", cancel);
    if (known) resolve({ ...known, text: readText(kept) });
    else reject(error());
  };
  const cut = (failure: "timeout" | "unreachable", why: string) => {
    decide(() => new OutgoingError(failure, why));
    controller?.abort(new Error(why));
  };
  const runOut = () => cut("timeout", `no response within ${timeout_ms / 1_000} s`);
  const cancel = () => cut("unreachable", "the request was aborted");
  let timer = setTimeout(runOut, timeout_ms);
  for (const signal of signals) signal.addEventListener("abort", cancel);
  if (signals.some((signal) => signal.aborted)) cancel();
  return {
    promise,
    isDecided: () => decided,
    /** Called before the first byte is written; an aborted request must not be sent. */
    begin(given: Dispatcher.DispatchController) {
      controller = given;
      if (decided) given.abort(new Error("given up"));
    },
    takeStatus(status: number, retryAfter: string | string[] | undefined) {
      known = { status, retry_after: typeof retryAfter === "string" ? retryAfter : null };
      clearTimeout(timer);
      const left_ms = timeout_ms - (performance.now() - began);
      if (!decided) timer = setTimeout(runOut, Math.max(0, Math.min(body_ms_max, left_ms)));
    },
    takeBytes(chunk: Buffer) {
      if (bytes < kept_bytes_max) kept.push(chunk);
      bytes += chunk.length;
      if (bytes > body_bytes_max) cut("unreachable", "the response is too long");
    },
    end: () => decide(() => new OutgoingError("unreachable", "no answer")),
    fail: decide,
  };
}

/** Returns the beginning as text that PostgreSQL can store: well-formed, without NUL. */
function readText(chunks: readonly Buffer[]): string {
  const bytes = Buffer.concat(chunks).subarray(0, kept_bytes_max);
  const text = new TextDecoder().decode(bytes).replaceAll("\0", "");
  return text.slice(0, text_characters_max).toWellFormed();
}
