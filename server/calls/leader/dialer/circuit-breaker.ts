// Detects that most calls of a campaign fail because of its trunk rather than its recipients.
import type { Call } from "../../state-machine/call.ts";

/** The last calls that are counted, and how many of them may fail. */
const window = 30;
const failures_max = 20;

/** Dispositions that the trunk causes rather than the recipient: `invalid` for many
 * numbers means that the trunk's number format is wrong. */
const failures: ReadonlySet<string> = new Set([
  "invalid",
  "congestion",
  "unreachable",
  "failed",
  "lost",
]);

export type CircuitBreaker = {
  /** Records an ended call of a campaign; returns why the campaign must be paused, or null. */
  record(call: Call): string | null;
};

export function openCircuitBreaker(): CircuitBreaker {
  const recent = new Map<string, (string | null)[]>();
  return {
    record({ account_id, campaign_id, disposition, sip_status, initiated_at, legs }) {
      // A call that was withdrawn does not count.
      if (initiated_at === null || legs[0]?.outcome === "canceled") return null;
      const key = `${account_id}:${campaign_id}`;
      const outcomes = recent.get(key) ?? [];
      recent.delete(key);
      const isFailure = disposition !== null && failures.has(disposition);
      const detail = sip_status === null ? disposition : `${disposition} (SIP ${sip_status})`;
      outcomes.push(isFailure ? detail : null);
      if (outcomes.length > window) outcomes.shift();
      const failed = outcomes.filter((outcome) => outcome !== null);
      if (failed.length >= failures_max)
        return `${failed.length} of the last ${outcomes.length} calls failed, most recently: ${detail}`;
      recent.set(key, outcomes);
      if (recent.size > 10_000) recent.delete(recent.keys().next().value!);
      return null;
    },
  };
}
