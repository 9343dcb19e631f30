import {
  customerCallableFrom,
  mayCallAt,
  mayCallCustomerAt,
  type CallingWindow,
} from "../../../accounts/accounts/calling-window.ts";
import { splitTimeZones } from "../../../lib/phone-time-zones/phone-time-zones.ts";
import type { CampaignStatus, RecipientState, WaitReason } from "../campaign-record-schema.ts";

type Campaign = Readonly<Record<RecipientState, number>> & {
  readonly state: CampaignStatus;
  readonly holds: readonly unknown[];
  /** Whether its trunk is usable. */
  readonly has_trunk: boolean;
  /** The distinct lists of zones of due recipients, joined by `&`. */
  readonly due_time_zones: readonly string[];
  /** Whose cap on calls keeps it from calling. */
  readonly cap: "account" | "token" | null;
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
  const { state, holds, synthesizing, waiting, calling, has_trunk, due_time_zones } = campaign;
  const { last_ended_reason } = campaign;
  if (state !== "running" || holds.length > 0 || synthesizing + waiting === 0) return null;
  if (!has_trunk) return "no_trunk";
  if (!mayCallAt(window, now)) return "calling_window";
  const isOpen = (zones: string) => mayCallCustomerAt(window, splitTimeZones(zones), now);
  const has_callable = due_time_zones.some(isOpen);
  if (has_callable && campaign.cap) return `${campaign.cap}_cap`;
  if (has_callable && last_ended_reason === "ai_agent_unavailable") return "ai_agent";
  if (has_callable && last_ended_reason === "speech_unavailable") return "speech";
  if (calling > 0 || has_callable) return null;
  if (due_time_zones.length > 0) return "recipient_hours";
  return synthesizing > 0 ? "speech" : "retry";
}

/** Returns when the window opens for the first of the due recipients; null if it never does. */
export function dueCallableFrom(
  { due_time_zones }: Pick<Campaign, "due_time_zones">,
  window: CallingWindow,
  now: Date,
): Date | null {
  const openings = due_time_zones
    .map((zones) => customerCallableFrom(window, splitTimeZones(zones), now))
    .filter((opening) => opening !== null);
  return openings.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null;
}
