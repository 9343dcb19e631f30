import { mayCallAt, type CallingWindow } from "../../../accounts/accounts/calling-window.ts";
import type { CampaignStatus, RecipientState, WaitReason } from "../campaign-record-schema.ts";

type Campaign = Readonly<Record<RecipientState, number>> & {
  readonly state: CampaignStatus;
  readonly holds: readonly unknown[];
  /** Whether its trunk is usable. */
  readonly has_trunk: boolean;
  /** Whether a recipient is due. */
  readonly has_due: boolean;
  /** Why its last call ended. */
  readonly last_ended_reason: string | null;
};

/**
 * Returns why a running campaign that is not paused places no calls at `now`; null while a recipient is
 * being called or is due. Reasons that block every call come before those that block the next one.
 */
export function waitReasonOf(
  campaign: Campaign,
  window: CallingWindow,
  now: Date,
): WaitReason | null {
  const { state, holds, synthesizing, waiting, calling, has_trunk, has_due } = campaign;
  const { last_ended_reason } = campaign;
  if (state !== "running" || holds.length > 0 || synthesizing + waiting === 0) return null;
  if (!has_trunk) return "no_trunk";
  if (!mayCallAt(window, now)) return "calling_window";
  if (has_due && last_ended_reason === "ai_agent_unavailable") return "ai_agent";
  if (has_due && last_ended_reason === "speech_unavailable") return "speech";
  if (calling > 0 || has_due) return null;
  return synthesizing > 0 ? "speech" : "retry";
}
