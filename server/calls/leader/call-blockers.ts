// What stands blocker a call at the moment it is placed, and again when its customer would be called:
// between the two, its agents may have rung for half an hour.
import { mayCallAt } from "../../accounts/accounts/calling-window.ts";
import { isSuppressed } from "../../audience/suppressions/suppressions.ts";
import type { Call } from "../state-machine/call.ts";
import type { CallBlocker } from "../state-machine/events-and-commands.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { isCampaignOpen, type Claimed, type TrunkShare } from "./leader-statements.ts";

/** Nobody expects a call that was to come an hour ago: its node was away, or the line before it too long. */
const late_ms_max = 3_600_000;

/** Of a call that was just claimed. */
export function blockerAtClaim(claimed: Claimed, trunk: TrunkShare, at: Date): CallBlocker | null {
  const { call, suppressed, pair_taken } = claimed;
  if (at.getTime() - call.due_at.getTime() > late_ms_max) return "too_late";
  if (!call.settings.allowed || !isTrunkAllowed(trunk, call)) return "not_allowed";
  if (suppressed) return "suppressed";
  if (pair_taken) return "already_in_call";
  return mayCallAt(call.settings, at) ? null : "night_window";
}

/** Of a call whose agent has just answered. */
export async function blockerBeforeCustomer(
  { app }: Leader,
  { call }: LiveCall,
): Promise<CallBlocker | null> {
  const now = app.clock.now();
  if (!mayCallAt(call.settings, now)) return "night_window";
  const { account_id, to_phone } = call;
  return (await isSuppressed(app.db.pool, account_id, "voice", to_phone, now))
    ? "suppressed"
    : null;
}

/** A dial that waited for so long is withBlocker again: I6 of the design. */
const waited_ms_max = 500;

/**
 * Of a leg to whoever is called, just before it is dialed. What a campaign's recipient was claimed on the
 * strength of may have changed while the dial waited for its turn, or for the switch.
 */
export async function blockerAtDial(
  { app }: Leader,
  { call }: LiveCall,
  waited_ms: number,
): Promise<CallBlocker | null> {
  const now = app.clock.now();
  if (!mayCallAt(call.settings, now)) return "night_window";
  if (!call.voice || waited_ms < waited_ms_max) return null;
  if (!(await isCampaignOpen(app.db.pool, call))) return "held";
  const { account_id, to_phone } = call;
  return (await isSuppressed(app.db.pool, account_id, "voice", to_phone, now))
    ? "suppressed"
    : null;
}

/** Whether the account may use the trunk. */
export function isTrunkAllowed(
  { only_account_id }: TrunkShare,
  { account_id }: Pick<Call, "account_id">,
): boolean {
  return only_account_id === null || only_account_id === account_id;
}
