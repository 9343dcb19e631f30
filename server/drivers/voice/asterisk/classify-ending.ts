// Why a leg ended, from what Asterisk shows of it. Each row was seen on a real one (Asterisk 22).
import type { Ending, LegOutcome } from "../driver.ts";

export type EndOfLeg = {
  /** Q.850; 0 and null: none was given. */
  readonly cause: number | null;
  /** The SIP status that ended it. */
  readonly tech_cause: number | null;
  readonly answered: boolean;
  /** The first request to hang it up: by the far end, by us through ARI, or by none. */
  readonly request: "none" | "far_end" | "us";
  /** This session asked for its end. */
  readonly we_hung_up: boolean;
  /** The milliseconds until the end without any sign from the far end; null: there was one, or nobody knows. */
  readonly silent_ms: number | null;
};

/** Asterisk ends a call so that nothing answers to (SIP's timer B, 32 s) with a 408 of its own. */
const far_end_lost_ms = 31_000;

const by_sip_status: Readonly<Record<number, LegOutcome>> = {
  403: "declined",
  404: "unallocated",
  408: "no_answer",
  410: "unallocated",
  480: "no_answer",
  484: "invalid",
  486: "busy",
  503: "congestion",
  600: "busy",
  603: "declined",
  604: "unallocated",
  607: "declined",
};

const by_cause: Readonly<Record<number, LegOutcome>> = {
  1: "unallocated",
  17: "busy",
  18: "no_answer",
  19: "no_answer",
  20: "unreachable",
  21: "declined",
  22: "unallocated",
  28: "invalid",
  34: "congestion",
  42: "congestion",
};

/**
 * Exactly one ending for every combination. One that was answered was hung up; `lost` is for whoever
 * knows that the switch went away. Ringing that we gave up counts as the far end's: it did not answer.
 */
export function classifyEnding(end: EndOfLeg): Ending {
  const cause = end.cause || null;
  const sip_status = isOwnTimeOut(end) ? null : end.tech_cause;
  const by_us = end.request === "us" || (end.request === "none" && end.we_hung_up);
  if (end.answered) {
    return { outcome: "hung_up", cause, sip_status, by: by_us ? "us" : "far_end" };
  }
  if (end.request === "us" || (by_us && end.tech_cause === null)) {
    return { outcome: "canceled", cause, sip_status, by: "us" };
  }
  return { outcome: unansweredOutcome(end), cause, sip_status, by: "far_end" };
}

/** Asterisk then shows a 480 that nobody sent; a real one comes with a request to hang up. */
function isOwnTimeOut({ request, cause, answered }: EndOfLeg): boolean {
  return !answered && request === "none" && cause === 19;
}

function unansweredOutcome(end: EndOfLeg): LegOutcome {
  const { cause, tech_cause, silent_ms } = end;
  if (silent_ms !== null) {
    if (isOwnTimeOut(end)) return "unreachable";
    if (tech_cause === 408 && silent_ms >= far_end_lost_ms) return "unreachable";
  }
  if (tech_cause !== null) return by_sip_status[tech_cause] ?? "failed";
  return by_cause[cause ?? 0] ?? "failed";
}
