// The credit of a live call: every pulse is reserved before it begins.
import type { Call } from "./call.ts";
import { liveLegs } from "./legs.ts";
import { pulsesOf } from "./transitions/end-call.ts";
import type { CallEvent, Transition } from "./events-and-commands.ts";

/** Returns when the first unreserved pulse begins; null while no leg is answered, once the call is
 * ending, and for inbound calls, which are free. */
export function nextUnreservedPulse(call: Call): Date | null {
  if (call.stage === "ending" || call.stage === "ended" || call.direction === "inbound")
    return null;
  const pulse_ms = call.settings.pulse_seconds * 1_000;
  const running_ms = call.legs
    .filter(({ answered_at, ended_at }) => answered_at !== null && ended_at === null)
    .map(({ answered_at }) => answered_at!.getTime());
  if (running_ms.length === 0) return null;
  // Goes from boundary to boundary until more pulses have begun than are reserved.
  for (let at_ms = Math.min(...running_ms); ;) {
    const left = call.reserved - pulsesDue(call, at_ms);
    if (left < 0) return new Date(at_ms);
    // While one pulse lasts, each leg begins at most one.
    const lengths = Math.floor(left / running_ms.length);
    at_ms =
      lengths > 0
        ? at_ms + lengths * pulse_ms
        : Math.min(...running_ms.map((from_ms) => nextBoundary(from_ms, at_ms, pulse_ms)));
  }
}

/** Counts the pulses begun just after `at_ms`, and the first one of each unanswered leg that may still be connected. */
function pulsesDue(call: Call, at_ms: number): number {
  const at = new Date(at_ms + 1);
  const begun = call.legs.reduce((sum, leg) => sum + pulsesOf(call, leg, at), 0);
  const unanswered = liveLegs(call).filter(({ answered_at }) => answered_at === null);
  const agents = unanswered.filter(({ role }) => role === "agent").length;
  // Only one of the agents is connected. After its answer the others are hung up, which may take some time.
  const awaited = call.stage === "agent" ? Math.min(1, agents) : 0;
  return begun + unanswered.length - agents + awaited;
}

/** Returns the first pulse boundary after `at_ms` of a leg that was answered at `from_ms`. */
function nextBoundary(from_ms: number, at_ms: number, pulse_ms: number): number {
  return from_ms + (Math.floor((at_ms - from_ms) / pulse_ms) + 1) * pulse_ms;
}

/** Requests credit for the pulse, unless it is reserved already or no longer needed. */
export function handlePulseDue(
  call: Call,
  { due_at }: CallEvent & { type: "pulse_due" },
): Transition | null {
  if (nextUnreservedPulse(call)?.getTime() !== due_at.getTime()) return null;
  const amount = pulsesDue(call, due_at.getTime()) - call.reserved;
  const purpose = { type: "pulse", due_at } as const;
  return { call, events: [], commands: [], request: { type: "reserve_credit", amount, purpose } };
}

/** Records that the pulse is unpaid: the call is hung up when it begins. */
export function handlePulseRefused(call: Call, due_at: Date): Transition {
  return { call: { ...call, unpaid_at: due_at }, events: [], commands: [] };
}
