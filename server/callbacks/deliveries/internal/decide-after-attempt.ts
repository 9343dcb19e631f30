// Decides what follows an attempt: delivered, retried or failed, and whether the endpoint is paused or
// disabled.

/** The delay after each attempt of a delivery; after the last attempt it has failed. */
const retry_seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000] as const;
/** An endpoint that has failed for this long is disabled. */
const failing_days_max = 5;
/** The longest pause that a Retry-After header can request. */
const pause_seconds_max = 86_400;
/** The pause after a throttling status without Retry-After. */
const throttle_ms = 2_000;
/** An endpoint that keeps failing is tried less often: after a tenth of the time since its first failure, at most this. */
const probe_ms_max = 60_000;
const throttling_statuses: ReadonlySet<number> = new Set([429, 502, 504]);

export type Attempted = {
  /** Attempts before this one. */
  readonly attempts: number;
  /** Null if there was no response. */
  readonly answer: { readonly status: number; readonly retry_after: string | null } | null;
  /** The endpoint's first failure since its last success or since nothing was pending, without this attempt. */
  readonly failing_since: Date | null;
};

export type AttemptResult = {
  readonly state: "delivered" | "pending" | "failed";
  /** When a pending delivery is retried. */
  readonly due_at: Date | null;
  /** Until when the endpoint is paused. */
  readonly resume_at: Date | null;
  /** Why the endpoint must be disabled. */
  readonly disable: "gone" | null;
};

/** Decides what follows an attempt. `random` (0 to 1) is the jitter, so that deliveries are not retried together. */
export function decideAfterAttempt(attempted: Attempted, now: Date, random: number): AttemptResult {
  const { answer, attempts } = attempted;
  if (answer && answer.status >= 200 && answer.status < 300)
    return { state: "delivered", due_at: null, resume_at: null, disable: null };
  if (answer?.status === 410)
    return { state: "failed", due_at: null, resume_at: null, disable: "gone" };
  const failing_ms = now.getTime() - (attempted.failing_since ?? now).getTime();
  const retry_after_ms = answer === null ? null : readRetryAfter(answer.retry_after, now);
  const requested_ms =
    retry_after_ms ?? (answer && throttling_statuses.has(answer.status) ? throttle_ms : 0);
  const pause_ms = Math.max(requested_ms, Math.min(probe_ms_max, failing_ms / 10));
  const retry = retry_seconds[attempts];
  const delay_ms = retry === undefined ? null : retry * 1_000 * (1 + random / 5);
  return {
    state: delay_ms === null ? "failed" : "pending",
    due_at: delay_ms === null ? null : after(now, Math.max(delay_ms, retry_after_ms ?? 0)),
    resume_at: pause_ms > 0 ? after(now, pause_ms) : null,
    disable: null,
  };
}

/** Returns whether an endpoint has failed for so long that its next failure disables it. */
export function hasFailedTooLong(failing_since: Date | null, now: Date): boolean {
  const failing_ms = now.getTime() - (failing_since ?? now).getTime();
  return failing_ms >= failing_days_max * 86_400_000;
}

/** Returns the pause of a Retry-After header, in seconds or as a date (RFC 9110, 10.2.3), in ms; null if invalid. */
function readRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const text = header.trim();
  const until_ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : parseDate(text) - now.getTime();
  if (Number.isNaN(until_ms)) return null;
  return Math.max(0, Math.min(until_ms, pause_seconds_max * 1_000));
}

/** Parses the three forms of a date (RFC 9110, 5.6.7); NaN if invalid. Date.parse reads "45.5" as a day in May 2045. */
function parseDate(text: string): number {
  if (/^[A-Z][a-z]+, .+ GMT$/.test(text)) return Date.parse(text);
  return /^[A-Z][a-z]{2} [A-Z][a-z]{2} .+ \d{4}$/.test(text)
    ? Date.parse(`${text} GMT`)
    : Number.NaN;
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}
