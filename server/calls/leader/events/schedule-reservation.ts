// Timers for the credit of live calls: shortly before a pulse begins, credit for it is requested.
import { callName } from "../../state-machine/call.ts";
import { nextUnreservedPulse } from "../../state-machine/credit.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** Before the pulse begins; a quarter of a short pulse. */
const ahead_ms = 5_000;
/** While the switch is away. */
const retry_ms = 500;

/**
 * Schedules `pulse_due` ahead of the call's next pulse without credit, or, where its credit was refused, the
 * hangup when it begins. To be called after every change of the call.
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
    // Without the switch it is not known whether the call still goes on; its end settles what it cost.
    if (leader.is_connected) dispatch(live, { type: "pulse_due", due_at, at: app.clock.now() });
    else startTimer(live, retry_ms, () => scheduleReservation(leader, live));
  });
}

function startTimer(live: LiveCall, delay_ms: number, run: () => void): void {
  live.credit_timer = setTimeout(run, Math.max(0, delay_ms));
}
