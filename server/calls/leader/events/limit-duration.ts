// Ends conversations at the account's maximum duration.
import { callName } from "../../state-machine/call.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/**
 * Starts the timer that hangs up a conversation at its maximum duration, unless it runs. Call it after every
 * change of the call.
 */
export function limitDuration(leader: Leader, live: LiveCall): void {
  const { call } = live;
  const isTalking = call.stage === "talking" && leader.calls.get(callName(call)) === live;
  if (!isTalking || call.answered_at === null || live.duration_timer) return;
  const { clock } = leader.app;
  const end_ms = call.answered_at.getTime() + call.settings.talk_minutes_max * 60_000;
  live.duration_timer = setTimeout(
    () => leader.dispatch(live, { type: "hangup", reason: "too_long", at: clock.now() }),
    Math.max(0, end_ms - clock.now().getTime()),
  );
}
