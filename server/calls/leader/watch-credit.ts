// A talk goes on as long as its next pulse is paid: shortly before one ends, the next is reserved.
import { isLeaseLost } from "../../engine/leases.ts";
import { callName, type Call } from "../state-machine/call.ts";
import { pulsesOf } from "../state-machine/end-call.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { topUp } from "./leader-statements.ts";

/** Before the pulse's end; a quarter of a short pulse. */
const ahead_ms = 5_000;
/** While the database or the switch is away. */
const retry_ms = 500;

/** Sees to the call's credit at the next time that matters; called after every change of the call. */
export function watchCredit(leader: Leader, live: LiveCall): void {
  const due_at = isLed(leader, live) ? nextPulse(live.call) : null;
  if (due_at === null) return stopTimer(live);
  const { pulse_seconds } = live.call.settings;
  const ahead = Math.min(ahead_ms, (pulse_seconds * 1_000) / 4);
  const delay_ms = due_at - ahead - leader.app.clock.now().getTime();
  startTimer(live, delay_ms, () => {
    payNext(leader, live, due_at).catch((err: unknown) => {
      if (isLeaseLost(err) || !isLed(leader, live)) return;
      leader.app.log.warn({ err }, "a call was not topped up; trying again");
      startTimer(live, retry_ms, () => watchCredit(leader, live));
    });
  });
}

function isLed({ calls }: Leader, live: LiveCall): boolean {
  return calls.get(callName(live.call)) === live;
}

function stopTimer(live: LiveCall): void {
  if (live.credit_timer) clearTimeout(live.credit_timer);
  live.credit_timer = null;
}

function startTimer(live: LiveCall, delay_ms: number, run: () => void): void {
  stopTimer(live);
  live.credit_timer = setTimeout(run, Math.max(0, delay_ms));
}

/** When the first of the answered legs begins a pulse that is not reserved yet; null without any. */
function nextPulse(call: Call): number | null {
  if (call.stage === "ending" || call.stage === "ended") return null;
  const answered = call.legs.filter(({ answered_at }) => answered_at !== null);
  const pulse_ms = call.settings.pulse_seconds * 1_000;
  const ends = answered
    .filter(({ ended_at }) => ended_at === null)
    .map(({ answered_at }) => answered_at!.getTime());
  if (ends.length === 0) return null;
  // Boundaries in order, until more pulses have begun than are reserved.
  for (let at = Math.min(...ends); ;) {
    const begun = answered.reduce((sum, leg) => sum + pulsesOf(call, leg, new Date(at + 1)), 0);
    // The leg that has not answered yet has its first one reserved.
    const first = call.legs.filter((leg) => leg.state !== "ended" && !leg.answered_at).length;
    if (begun + first > call.reserved) return at;
    at = Math.min(...ends.map((from) => nextBoundary(from, at, pulse_ms)));
  }
}

/** The first end of a pulse after `at`, of the leg that answered at `from`. */
function nextBoundary(from: number, at: number, pulse_ms: number): number {
  return from + (Math.floor((at - from) / pulse_ms) + 1) * pulse_ms;
}

async function payNext(leader: Leader, live: LiveCall, due_at: number): Promise<void> {
  const { app, lease } = leader;
  const { call } = live;
  // Whether it goes on at all is not known then; what it came to is settled at its end.
  if (!leader.is_connected) return startTimer(live, retry_ms, () => watchCredit(leader, live));
  const at = new Date(due_at + 1);
  const begun = call.legs.reduce((sum, leg) => sum + pulsesOf(call, leg, at), 0);
  const first = call.legs.filter((leg) => leg.state !== "ended" && !leg.answered_at).length;
  const missing = begun + first - call.reserved;
  if (missing <= 0 || (await topUp(app.db.pool, call, lease.fence, missing, app.clock.now()))) {
    live.call = { ...live.call, reserved: live.call.reserved + Math.max(0, missing) };
    return watchCredit(leader, live);
  }
  // Paid meanwhile, or over: another payment was under way, or the call went on.
  if (!isLed(leader, live) || nextPulse(live.call) !== due_at) return watchCredit(leader, live);
  startTimer(live, due_at - app.clock.now().getTime(), () =>
    leader.tell(live, { type: "hangup", reason: "credit", at: app.clock.now() }),
  );
}
