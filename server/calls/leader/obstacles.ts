// What stands against a call at the moment it is placed, and again when its customer would be called:
// between the two, its agents may have rung for half an hour.
import { mayCallAt } from "../../accounts/accounts/calling-window.ts";
import { isSuppressed } from "../../audience/suppressions/suppressions.ts";
import type { Call } from "../state-machine/call.ts";
import type { Obstacle } from "../state-machine/events-and-acts.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { isCampaignOpen, type Claimed, type TrunkShare } from "./leader-statements.ts";

/** Nobody expects a call that was to come an hour ago: its node was away, or the line before it too long. */
const late_ms_max = 3_600_000;

/** Of a call that was just claimed. */
export function obstacleOfClaim(claimed: Claimed, trunk: TrunkShare, at: Date): Obstacle | null {
  const { call, suppressed, pair_taken } = claimed;
  if (at.getTime() - call.due_at.getTime() > late_ms_max) return "too_late";
  if (!call.settings.allowed || !isOpenTo(trunk, call)) return "not_allowed";
  if (suppressed) return "suppressed";
  if (pair_taken) return "already_in_call";
  return mayCallAt(call.settings, at) ? null : "night_window";
}

/** Of a call whose agent has just answered. */
export async function obstacleOfCustomer(
  { app }: Leader,
  { call }: LiveCall,
): Promise<Obstacle | null> {
  const now = app.clock.now();
  if (!mayCallAt(call.settings, now)) return "night_window";
  const { account_id, to_phone } = call;
  return (await isSuppressed(app.db.pool, account_id, "voice", to_phone, now))
    ? "suppressed"
    : null;
}

/** A dial that waited for so long is validated again: I6 of the design. */
const waited_ms_max = 500;

/**
 * Of a leg to whoever is called, just before it is dialled. What a campaign's recipient was claimed on the
 * strength of may have changed while the dial waited for its turn, or for the switch.
 */
export async function obstacleOfDial(
  { app }: Leader,
  { call }: LiveCall,
  waited_ms: number,
): Promise<Obstacle | null> {
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
export function isOpenTo(
  { only_account_id }: TrunkShare,
  { account_id }: Pick<Call, "account_id">,
): boolean {
  return only_account_id === null || only_account_id === account_id;
}
