// What stands against a call at the moment it is placed, and again when its customer would be called:
// between the two, its agents may have rung for half an hour.
import { mayCallAt } from "../../accounts/calling-window.ts";
import { isSuppressed } from "../../audience/suppressions.ts";
import type { Call } from "../life/call.ts";
import type { Obstacle } from "../life/events-and-acts.ts";
import type { Leader, LiveCall } from "./leader.ts";
import type { Claimed, TrunkShare } from "./leader-statements.ts";

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

function isOpenTo({ only_account_id }: TrunkShare, { account_id }: Call): boolean {
  return only_account_id === null || only_account_id === account_id;
}
