// What follows an attempt: the one place that decides it.

/** From one attempt of a delivery to the next; after the last it has failed. */
const retry_seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000] as const;
/** An endpoint that fails for so long is disabled. */
const failing_days_max = 5;
/** A pause that is asked for is kept, up to this. */
const pause_seconds_max = 86_400;
/** When it is told to slow down, and not for how long. */
const throttle_ms = 2_000;
/** An endpoint that keeps failing is tried less often: after a tenth of the time that it fails already. */
const probe_ms_max = 60_000;
const slow_down: ReadonlySet<number> = new Set([429, 502, 504]);

export type Attempted = {
  /** Made before this one. */
  readonly attempts: number;
  /** Null: no answer came. */
  readonly answer: { readonly status: number; readonly retry_after: string | null } | null;
  /** Since when the endpoint fails, this attempt aside. */
  readonly failing_since: Date | null;
};

export type Following = {
  readonly state: "delivered" | "pending" | "failed";
  /** When a pending one is tried again. */
  readonly due_at: Date | null;
  /** Nothing is sent to the endpoint before. */
  readonly resume_at: Date | null;
  /** Why the endpoint is to be disabled. */
  readonly disable: "gone" | "failing" | null;
};

/** `random`: from 0 up to 1, so that what failed together does not come back together. */
export function afterAttempt(attempted: Attempted, now: Date, random: number): Following {
  const { answer, attempts } = attempted;
  if (answer && answer.status >= 200 && answer.status < 300)
    return { state: "delivered", due_at: null, resume_at: null, disable: null };
  if (answer?.status === 410)
    return { state: "failed", due_at: null, resume_at: null, disable: "gone" };
  const failing_ms = now.getTime() - (attempted.failing_since ?? now).getTime();
  const asked_ms = answer === null ? null : readRetryAfter(answer.retry_after, now);
  const told_ms = asked_ms ?? (answer && slow_down.has(answer.status) ? throttle_ms : 0);
  const pause_ms = Math.max(told_ms, Math.min(probe_ms_max, failing_ms / 10));
  const retry = retry_seconds[attempts];
  const delay_ms = retry === undefined ? null : retry * 1_000 * (1 + random / 5);
  return {
    state: delay_ms === null ? "failed" : "pending",
    due_at: delay_ms === null ? null : after(now, Math.max(delay_ms, asked_ms ?? 0)),
    resume_at: pause_ms > 0 ? after(now, pause_ms) : null,
    disable: failing_ms >= failing_days_max * 86_400_000 ? "failing" : null,
  };
}

/** The header's pause: seconds or a date (RFC 9110, 10.2.3); null when it is neither. */
function readRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const text = header.trim();
  const until_ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  if (!Number.isFinite(until_ms)) return null;
  return Math.max(0, Math.min(until_ms, pause_seconds_max * 1_000));
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + ms);
}
