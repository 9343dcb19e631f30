// Outcomes of voice calls that several rules depend on.
import type { CallBlocker } from "./call-blocker.ts";
import type { Call } from "./call.ts";

/** The `ended_reason` of a call whose customer answered while no node leader was connected, and hung up in silence. */
export const answer_missed = "answer_missed";

/** Whether the call's AI agent was lost before its first word. */
export function wasSilent({
  ended_reason,
  disposition,
}: Pick<Call, "ended_reason" | "disposition">): boolean {
  return ended_reason === "agent_lost" && disposition === "failed";
}

/** Whether no leg was dialed for a temporary reason, so that the recipient is called later. */
export function isWithdrawn({
  ended_reason,
  disposition,
}: Pick<Call, "ended_reason" | "disposition">): boolean {
  return withdrawals.has(ended_reason) && disposition === "canceled";
}

/**
 * Whether a phone of the customer may have rung. The leg of a call that ends before it is dialed is canceled and has not
 * rung.
 */
export function mayHaveRung({ legs }: Pick<Call, "legs">): boolean {
  return legs.some(
    ({ role, outcome, ringing_at, answered_at }) =>
      role === "customer" && (outcome !== "canceled" || (ringing_at ?? answered_at) !== null),
  );
}

const withdrawals: ReadonlySet<string | null> = new Set<CallBlocker>([
  "night_window",
  "held",
  "node_unavailable",
  "ai_agent_unavailable",
  "speech_unavailable",
]);
