// Classifies a response of the Graph API. Errors never contain the body or the token, because Meta's error texts
// repeat tokens and phone numbers.
import { ChatSendError } from "../driver.ts";
import { asCode, asRecord, type JsonRecord } from "./json.ts";

/** Meta's codes for too many messages, calls of the app or calls on the business account. */
const throttling_codes: ReadonlySet<number> = new Set([130429, 4, 80007]);
/**
 * Meta's codes for limits of one recipient, a restriction and a throughput upgrade, which may come with status 429. The
 * code says what to do, the status does not.
 */
const codes_of_429: ReadonlySet<number> = new Set([131048, 131049, 131056, 131057, 131064]);
const retry_after_max_seconds = 86_400;
/**
 * Meta's codes for a failure of its own, which do not say whether the request had an effect. With 503 it had none:
 * Meta was overloaded.
 */
const server_error_codes: ReadonlySet<number> = new Set([1, 2]);
/** The pause after a failure of the provider, so that few messages have an unknown outcome after an outage. */
const server_error_pause_ms = 5_000;

export type GraphResponse = {
  readonly status: number;
  readonly retry_after: string | null;
  readonly text: string;
};

/**
 * Returns the body of a successful response. Throws ChatSendError: `throttled` for the throttling codes and for 429 with
 * any code but those above, `rejected` for a Graph error of any other status and for any other 4xx, and `unknown` for an
 * undecided outcome: a 5xx or a redirect without a Graph error, a 5xx with the code of an error of Meta's servers, 408,
 * or a body that is not JSON.
 */
export function classifyResponse({ status, retry_after, text }: GraphResponse): JsonRecord {
  const body = parse(text);
  const error = asRecord(body?.["error"]);
  const code = codeOf(error);
  if (isThrottling(status, code)) {
    const retry_after_ms = readRetryAfter(retry_after);
    throw new ChatSendError("throttled", withCode("Meta throttled the request", code), {
      ...(code === null ? {} : { code }),
      ...(retry_after_ms === null ? {} : { retry_after_ms }),
    });
  }
  if (code !== null && status >= 500 && status !== 503 && server_error_codes.has(code))
    throw new ChatSendError("unknown", withCode("Meta failed to process the request", code), {
      code,
      retry_after_ms: server_error_pause_ms,
    });
  if (code !== null) throw rejected(code);
  if (status === 401) throw rejected(190);
  if (status >= 200 && status < 300 && body !== null && error === null) return body;
  if (status >= 400 && status < 500 && status !== 408) {
    throw new ChatSendError("rejected", `the provider returned HTTP status ${status}`);
  }
  const isServerError = status >= 500 || status === 408;
  throw new ChatSendError(
    "unknown",
    `the provider returned HTTP status ${status} without a usable result`,
    isServerError ? { retry_after_ms: server_error_pause_ms } : {},
  );
}

function isThrottling(status: number, code: number | null): boolean {
  if (code === null) return status === 429;
  return throttling_codes.has(code) || (status === 429 && !codes_of_429.has(code));
}

/** Returns the error's code. 100 with subcode 33, an object that does not exist, is 33: the number was deleted. */
function codeOf(error: JsonRecord | null): number | null {
  const code = asCode(error?.["code"]);
  return code === 100 && error?.["error_subcode"] === 33 ? 33 : code;
}

function rejected(code: number): ChatSendError {
  return new ChatSendError("rejected", withCode("Meta rejected the request", code), { code });
}

function withCode(text: string, code: number | null): string {
  return code === null ? text : `${text} (${code})`;
}

function parse(text: string): JsonRecord | null {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Parses whole seconds, the form that Meta uses; at most one day. */
function readRetryAfter(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(Number(header), retry_after_max_seconds) * 1_000;
}
