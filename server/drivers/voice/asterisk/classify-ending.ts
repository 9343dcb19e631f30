// Maps what Asterisk reports about the end of a leg to its outcome. Every row was observed on Asterisk 22.
import type { Ending, LegOutcome } from "../driver.ts";

export type EndedLeg = {
  /** Q.850; 0 or null when none was given. */
  readonly cause: number | null;
  /** The SIP status that ended the leg. */
  readonly tech_cause: number | null;
  readonly answered: boolean;
  /** Which side requested the hangup first: the far end, or Trunkline through ARI. */
  readonly request: "none" | "far_end" | "us";
  /** This session hung up the leg. */
  readonly we_hung_up: boolean;
  /** How long the leg lasted without ringing or early media; null when it had either or it is unknown. */
  readonly silent_ms: number | null;
};

/** Asterisk generates a 408 when the far end sends no response for 32 s (SIP timer B). */
const far_end_lost_ms = 31_000;

/** What a BYE without a Reason means (RFC 3398, section 8.2.6.1); Asterisk reports no cause for it outside a bridge. */
const normal_clearing = 16;

/** After ringing, gateways send it for a person who declines; without ringing, the carrier refuses the account. */
const forbidden = 403;

const by_sip_status: Readonly<Record<number, LegOutcome>> = {
  [forbidden]: "declined",
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
 * Returns the ending for every combination of inputs. An answered leg is always `hung_up`; `lost` is
 * decided by the caller, which knows whether the switch failed. A ring time-out counts as the far end's.
 */
export function classifyEnding(end: EndedLeg): Ending {
  const cause = end.cause || null;
  const sip_status = isRingTimeout(end) ? null : end.tech_cause;
  const by_us = end.request === "us" || (end.request === "none" && end.we_hung_up);
  if (end.answered) {
    const by = by_us ? "us" : "far_end";
    return { outcome: "hung_up", cause: cause ?? normal_clearing, sip_status, by };
  }
  if (end.request === "us" || (by_us && end.tech_cause === null)) {
    return { outcome: "canceled", cause, sip_status, by: "us" };
  }
  return { outcome: unansweredOutcome(end), cause, sip_status, by: "far_end" };
}

/** On a ring time-out Asterisk generates a 480; a 480 from the far end has a hangup request. */
function isRingTimeout({ request, cause, answered }: EndedLeg): boolean {
  return !answered && request === "none" && cause === 19;
}

function unansweredOutcome(end: EndedLeg): LegOutcome {
  const { cause, tech_cause, silent_ms } = end;
  if (silent_ms !== null) {
    if (isRingTimeout(end)) return "unreachable";
    if (tech_cause === 408 && silent_ms >= far_end_lost_ms) return "unreachable";
    if (tech_cause === forbidden) return "failed";
  }
  if (tech_cause !== null) return by_sip_status[tech_cause] ?? "failed";
  return by_cause[cause ?? 0] ?? "failed";
}
