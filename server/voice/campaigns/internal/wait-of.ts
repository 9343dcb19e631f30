import { mayCallAt, type CallingWindow } from "../../../accounts/accounts/calling-window.ts";
import type { Wait } from "../campaign-record-schema.ts";
import type { CampaignRow } from "../campaign-records.ts";

type Campaign = Pick<
  CampaignRow,
  "state" | "holds" | "synthesizing" | "waiting" | "calling" | "has_trunk" | "has_due"
>;

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
