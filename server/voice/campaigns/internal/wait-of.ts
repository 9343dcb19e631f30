import { mayCallAt, type CallingWindow } from "../../../accounts/accounts/calling-window.ts";
import type { CampaignStatus, RecipientState, Wait } from "../campaign-record-schema.ts";

type Campaign = Readonly<Record<RecipientState, number>> & {
  readonly state: CampaignStatus;
  readonly holds: readonly unknown[];
  /** Whether its trunk can be used. */
  readonly has_trunk: boolean;
  /** Whether a recipient could be called now. */
  readonly has_due: boolean;
};

/**
 * What a campaign that nobody paused waits for at that instant: null while somebody is called, or can
 * be. What stands against every call comes before what stands against the next one.
 */
export function waitOf(campaign: Campaign, window: CallingWindow, now: Date): Wait | null {
  const { state, holds, synthesizing, waiting, calling, has_trunk, has_due } = campaign;
  if (state !== "running" || holds.length > 0 || synthesizing + waiting === 0) return null;
  if (!has_trunk) return "no_trunk";
  if (!mayCallAt(window, now)) return "calling_window";
  if (calling > 0 || has_due) return null;
  return synthesizing > 0 ? "speech" : "retry";
}
