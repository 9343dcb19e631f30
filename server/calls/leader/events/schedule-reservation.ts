// Timers that request credit for a live call's next pulse shortly before it begins.
import { callName } from "../../state-machine/call.ts";
import { nextUnreservedPulse } from "../../state-machine/credit.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** How long before the pulse; at most a quarter of the pulse. */
const ahead_ms = 5_000;
/** The interval of retries while the switch is disconnected. */
const retry_ms = 500;

/**
 * Schedules `pulse_due` before the call's next unreserved pulse or, if credit for it was refused, the hangup
 * at its beginning. Call it after every change of the call.
 */
export function scheduleReservation(leader: Leader, live: LiveCall): void {
  if (live.credit_timer) clearTimeout(live.credit_timer);
  live.credit_timer = null;
  const { app, calls, dispatch } = leader;
  const { call } = live;
  const due_at = calls.get(callName(call)) === live ? nextUnreservedPulse(call) : null;
  if (due_at === null) return;
  const due_in_ms = due_at.getTime() - app.clock.now().getTime();
  if (call.unpaid_at?.getTime() === due_at.getTime()) {
    const hangUp = () => dispatch(live, { type: "hangup", reason: "credit", at: app.clock.now() });
    return startTimer(live, due_in_ms, hangUp);
  }
  const pulse_ms = call.settings.pulse_seconds * 1_000;
  startTimer(live, due_in_ms - Math.min(ahead_ms, pulse_ms / 4), () => {
    // While the switch is disconnected the call may have ended; its end settles the cost.
    if (leader.is_connected) dispatch(live, { type: "pulse_due", due_at, at: app.clock.now() });
    else startTimer(live, retry_ms, () => scheduleReservation(leader, live));
  });
}

function startTimer(live: LiveCall, delay_ms: number, run: () => void): void {
  live.credit_timer = setTimeout(run, Math.max(0, delay_ms));
}
