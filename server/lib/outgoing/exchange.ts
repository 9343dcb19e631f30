// One request and its answer, ended by whichever comes first: the answer's end, its limits, the connection,
// the clock or the caller. Once the status is known, that is the answer, however the rest ends.
import type { Dispatcher } from "undici";
import { explainFailure } from "./explain-failure.ts";
import { OutgoingError, type OutgoingAnswer, type OutgoingRequest } from "./outgoing-http.ts";

/** Of a body, so that its connection can be used again. */
const body_bytes_max = 65_536;
const text_characters_max = 4_096;
/** UTF-8 has at most four bytes for a character. */
const kept_bytes_max = 4 * text_characters_max;
/** A status is worth more than the end of its body. */
const body_ms_max = 1_000;

/** Throws OutgoingError and nothing else; `signal` cuts it. */
export function exchange(
  dispatcher: Dispatcher,
  request: OutgoingRequest,
  signals: readonly AbortSignal[],
): Promise<OutgoingAnswer> {
  const url = new URL(request.url);
  const answer = openAnswer(request.timeout_ms, signals);
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart: answer.begin,
    onResponseStart(_, status, headers) {
      // Anything below is a notice that the answer is still to come.
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

/** How one exchange ends: decided once. */
function openAnswer(timeout_ms: number, signals: readonly AbortSignal[]) {
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingAnswer>();
  let controller: Dispatcher.DispatchController | null = null;
  let known: { status: number; retry_after: string | null } | null = null;
  let decided = false;
  let bytes = 0;
  const kept: Buffer[] = [];
  const began = performance.now();
  /** Gives what is known by now, else the error. */
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
  const runOut = () => cut("timeout", `no answer within ${timeout_ms / 1_000} s`);
  const cancel = () => cut("unreachable", "the request was called off");
  let timer = setTimeout(runOut, timeout_ms);
  for (const signal of signals) signal.addEventListener("abort", cancel);
  if (signals.some((signal) => signal.aborted)) cancel();
  return {
    promise,
    isDecided: () => decided,
    /** The first byte is about to be written; one that nobody waits for any more must not leave. */
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
      if (bytes > body_bytes_max) cut("unreachable", "an answer without end");
    },
    end: () => decide(() => new OutgoingError("unreachable", "no answer")),
    fail: decide,
  };
}

/** The beginning as PostgreSQL stores text: well-formed, without NUL. */
function readText(chunks: readonly Buffer[]): string {
  const bytes = Buffer.concat(chunks).subarray(0, kept_bytes_max);
  const text = new TextDecoder().decode(bytes).replaceAll("\0", "");
  return text.slice(0, text_characters_max).toWellFormed();
}
