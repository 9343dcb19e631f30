// The legs of a call, as values.
import type { LegOutcome } from "../../drivers/voice/driver.ts";
import type { Call, CallStatus, Leg } from "./call.ts";
import type { Command } from "./events-and-commands.ts";

export function findLeg(call: Call, id: number): Leg | undefined {
  return call.legs.find((leg) => leg.id === id);
}

function isLive({ state }: Leg): boolean {
  return state !== "ended";
}

export function liveLegs(call: Call): readonly Leg[] {
  return call.legs.filter(isLive);
}

/** Returns the call with a new leg that is about to be dialed; its ID is the number of legs. */
export function addLeg(call: Call, leg: Pick<Leg, "role" | "number" | "on_trunk">, at: Date): Call {
  const added: Leg = {
    ...leg,
    id: call.legs.length + 1,
    state: "dialing",
    status: "queued",
    initiated_at: at,
    ringing_at: null,
    answered_at: null,
    ended_at: null,
    outcome: null,
    blocker: null,
    cause: null,
    sip_status: null,
  };
  return { ...call, legs: [...call.legs, added] };
}

export function patchLeg(call: Call, id: number, patch: Partial<Leg>): Call {
  return { ...call, legs: call.legs.map((leg) => (leg.id === id ? { ...leg, ...patch } : leg)) };
}

/** Returns the status of this outcome in the call record. */
export function shownStatus(outcome: LegOutcome): CallStatus {
  switch (outcome) {
    case "hung_up":
      return "completed";
    case "busy":
    case "declined":
      return "busy";
    case "no_answer":
      return "no-answer";
    case "canceled":
      return "canceled";
    default:
      return "failed";
  }
}

export function hangUpLeg({ id }: Leg): Command {
  return { type: "hang_up", leg: id };
}
