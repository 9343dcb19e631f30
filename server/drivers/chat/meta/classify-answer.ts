// What one answer of the Graph API means for the message it answers. Nothing of a body or a token
// goes into an error: Meta's own error texts repeat tokens and phone numbers.
import { ChatSendError } from "../driver.ts";
import { asCode, asRecord, type JsonRecord } from "./json.ts";

/** Not now, as Meta says it: too many messages, calls of the app, or calls on the business account. */
const throttling_codes: ReadonlySet<number> = new Set([130429, 4, 80007]);
const retry_after_max_seconds = 86_400;

export type GraphAnswer = {
  readonly status: number;
  readonly retry_after: string | null;
  readonly text: string;
};

/**
 * The body of an answer that says yes. Throws ChatSendError: `throttled` for 429 and the codes above,
 * `rejected` for a Graph error of any status and for any other 4xx, and `unknown` for what leaves open
 * what happened: a 5xx or a redirect that is no Graph error, 408, a body that is no JSON.
 */
export function classifyAnswer({ status, retry_after, text }: GraphAnswer): JsonRecord {
  const body = parse(text);
  const error = asRecord(body?.["error"]);
  const code = asCode(error?.["code"]);
  if (status === 429 || (code !== null && throttling_codes.has(code))) {
    const retry_after_ms = readRetryAfter(retry_after);
    throw new ChatSendError("throttled", described("Meta asks to send less", code), {
      ...(code === null ? {} : { code }),
      ...(retry_after_ms === null ? {} : { retry_after_ms }),
    });
  }
  if (code !== null) throw rejected(code);
  if (status === 401) throw rejected(190);
  if (status >= 200 && status < 300 && body !== null && error === null) return body;
  if (status >= 400 && status < 500 && status !== 408) {
    throw new ChatSendError("rejected", `the provider's address answered ${status}`);
  }
  throw new ChatSendError(
    "unknown",
    `an answer of status ${status} that does not say what happened`,
  );
}

function rejected(code: number): ChatSendError {
  return new ChatSendError("rejected", described("Meta refused it", code), { code });
}

function described(what: string, code: number | null): string {
  return code === null ? what : `${what} (${code})`;
}

function parse(text: string): JsonRecord | null {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Only the form Meta uses, whole seconds; more than a day is taken as a day. */
function readRetryAfter(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(Number(header), retry_after_max_seconds) * 1_000;
}
