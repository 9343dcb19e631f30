// Outcomes of voice calls that several rules depend on.
import type { Call } from "./call.ts";

/** Whether the call's AI agent was lost before its first word. */
export function wasSilent({
  ended_reason,
  disposition,
}: Pick<Call, "ended_reason" | "disposition">): boolean {
  return ended_reason === "agent_lost" && disposition === "failed";
}
