// The reasons not to place or continue a call, checked when it is claimed, when its agent answers (after up
// to half an hour of ringing), and just before the customer is dialed.
import { call_outreach, isSuppressed } from "../../../audience/suppressions/suppressions.ts";
import { destinationBlocker } from "../../../accounts/accounts/call-destinations.ts";
import { statement } from "../../../lib/database/database.ts";
import { late_ms_max } from "../../controls/end-overdue-calls.ts";
import { isExtension } from "../../../telephony/agent-groups/agent-number.ts";
import type { Call, Leg } from "../../state-machine/call.ts";
import { mayCallCustomer, type CustomerHours } from "../../customer-hours.ts";
import type { CallBlocker } from "../../state-machine/call-blocker.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import type { Claimed } from "../node/leader-statements.ts";
import type { NodeTrunk } from "../node/node-state.ts";
import { readCustomer, type CustomerNow } from "./read-customer.ts";

/** Returns why a leg to the phone (E.164 digits) must not be dialed over the call's trunk, or null. */
export function blockerOfNumber(
  { call, trunk }: Pick<LiveCall, "call" | "trunk">,
  phone: string,
): CallBlocker | null {
  return destinationBlocker(call.settings, trunk.destinations, phone)?.reason ?? null;
}

/** Returns why a claimed call must not be placed, or null. */
export function blockerAtClaim(claimed: Claimed, trunk: NodeTrunk, at: Date): CallBlocker | null {
  const { call, suppressed, customer_taken, customer_limited, cap } = claimed;
  if (at.getTime() - call.due_at.getTime() > late_ms_max) return "too_late";
  if (!call.settings.allowed || !isTrunkAllowed(trunk, call)) return "not_allowed";
  if (call.caller_id === null) return "caller_id_not_allowed";
  if (suppressed) return "suppressed";
  const phones = [call.from_number, call.to_phone].filter((number) => !isExtension(number));
  for (const phone of phones) {
    const blocker = blockerOfNumber({ call, trunk }, phone);
    if (blocker) return blocker;
  }
  if (customer_taken) return "already_in_call";
  if (!mayCallCustomer(call, at)) return "night_window";
  if (customer_limited) return "calls_per_customer_day";
  return cap && `${cap}_cap`;
}

/** Returns why the customer must not be called although the agent has answered, or null. */
export async function blockerBeforeCustomer(
  { app }: Leader,
  live: LiveCall,
): Promise<CallBlocker | null> {
  const now = app.clock.now();
  return blockerOfCustomer(live, await readCustomer(app, live.call, now), now);
}

/** Why a leg must not be dialed; `hours`: those of the customer by which this was decided, if they were read again. */
export type BlockedDial = { readonly blocker: CallBlocker; readonly hours?: CustomerHours };

/** After this long, the customer of a dial is checked again. */
const waited_ms_max = 500;

/**
 * Returns why the customer's leg must not be dialed, or null. What was checked `waited_ms` ago may have changed while
 * the claim waited for a lock, or the dial for the rate limit, the content or the switch.
 */
export async function blockerAtDial(
  { app }: Leader,
  live: LiveCall,
  waited_ms: number,
): Promise<BlockedDial | null> {
  const now = app.clock.now();
  if (waited_ms < waited_ms_max)
    return mayCallCustomer(live.call, now) ? null : { blocker: "night_window" };
  const customer = await readCustomer(app, live.call, now);
  const blocker = blockerOfCustomer(live, customer, now);
  const { time_zone, night_calling, calling_from, calling_to, contact_time_zones } = customer;
  const hours = { time_zone, night_calling, calling_from, calling_to, contact_time_zones };
  return blocker && { blocker, hours };
}

/** Returns why the customer must not be called; the account's settings may have changed since the claim. */
function blockerOfCustomer(
  { call, trunk }: LiveCall,
  customer: CustomerNow,
  now: Date,
): CallBlocker | null {
  const { to_phone, voice } = call;
  const { contact_time_zones } = customer;
  if (!mayCallCustomer({ to_phone, contact_time_zones, settings: customer }, now))
    return "night_window";
  if (voice && !customer.is_campaign_open) return "held";
  if (customer.is_suppressed) return "suppressed";
  const barrier = destinationBlocker(customer, trunk.destinations, to_phone);
  if (barrier) return barrier.reason;
  return customer.is_taken ? "already_in_call" : null;
}

const claimLeg = statement<{ blocker: CallBlocker | null }>(
  "select claim_leg($1, $2, $3, $4) as blocker",
);

/**
 * Returns why an agent's leg on a trunk must not be dialed, or null; then the leg is counted for the caps, unless it
 * `isCounted` already. The claim of a click-to-call has counted its own agent's first leg, as claims count customers'
 * legs.
 */
export async function claimAgentLeg(
  { app }: Leader,
  { call }: LiveCall,
  { id, number }: Leg,
  isCounted: boolean,
): Promise<CallBlocker | null> {
  if (isCounted || (id === 1 && call.click_to_call.from_group_id === null))
    return (await isNumberSuppressed(app, call, number)) ? "suppressed" : null;
  const values = [call.account_id, call.id, number, app.clock.now()];
  const [claimed] = await claimLeg(app.db.pool, values);
  return claimed!.blocker;
}

/** Reports whether calls to this number are suppressed now. */
function isNumberSuppressed(
  app: Leader["app"],
  { account_id }: Pick<Call, "account_id">,
  phone: string,
): Promise<boolean> {
  return isSuppressed(app.db.pool, account_id, call_outreach, { phone }, app.clock.now());
}

/** Whether the account may use the trunk. */
export function isTrunkAllowed(
  { only_account_id }: NodeTrunk,
  { account_id }: Pick<Call, "account_id">,
): boolean {
  return only_account_id === null || only_account_id === account_id;
}
