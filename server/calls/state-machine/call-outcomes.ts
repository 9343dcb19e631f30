// Outcomes of voice calls that several rules depend on.
import type { CallBlocker } from "./call-blocker.ts";
import type { Call } from "./call.ts";
import type { CallEvent } from "./events-and-commands.ts";

/** The `ended_reason` of a call whose customer answered while no node leader was connected, and hung up in silence. */
export const answer_missed = "answer_missed";

/** How long an AI agent may be silent at first: it was set up before the call, and speaks within about a second. */
const first_word_ms_max = 3_000;

/** Whether the call's AI agent was lost before its first word, or was silent until the caller hung up. */
export function wasSilent({
  ended_reason,
  disposition,
}: Pick<Call, "ended_reason" | "disposition">): boolean {
  return ended_reason === "agent_lost" && disposition === "failed";
}

/** Whether the caller waits for the AI agent's first word. */
export function awaitsFirstWord({ stage, position }: Pick<Call, "stage" | "position">): boolean {
  return stage === "talking" && position?.doing === "conversing" && position.is_audible === false;
}

/** Whether a caller who hangs up now has waited too long for the AI agent's first word. */
export function lacksFirstWord(call: Pick<Call, "stage" | "position">, at: Date): boolean {
  const since_ms = call.position?.conversing_since_ms ?? Infinity;
  return awaitsFirstWord(call) && at.getTime() - since_ms > first_word_ms_max;
}

/** Whether the event reports that the AI agent was lost before its first word. */
export function losesSilentAgent(call: Call, event: CallEvent): boolean {
  if (event.type !== "conversation_ended" || call.opted_out) return false;
  return awaitsFirstWord(call) && (event.reason === "failed" || event.reason === "lost");
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
  "already_in_call",
  "held",
  "node_unavailable",
  "ai_agent_unavailable",
  "speech_unavailable",
]);

/**
 * Whether the ended voice call was not dialed, as far as is known: it was canceled, no phone reported ringing and no leg
 * is charged. It counts as no attempt.
 */
export function wasNotDialed({
  disposition,
  ringing_at,
  cost,
}: Pick<Call, "disposition" | "ringing_at" | "cost">): boolean {
  return disposition === "canceled" && ringing_at === null && cost === 0;
}

/** SQL: whether the ended voice call `c` was not dialed, as wasNotDialed decides. */
export const was_not_dialed =
  "(c.disposition = 'canceled' and c.ringing_at is null and c.cost = 0)";
