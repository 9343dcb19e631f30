// A call whose leader has changed.
import type { Call, Leg } from "./call.ts";
import type { Act } from "./events-and-acts.ts";
import { agentOnLine } from "./hear-answer.ts";
import { hangUpLeg, liveLegs } from "./legs.ts";
import { resumeVoice } from "./step-voice.ts";

/**
 * What is to be done at the switch for a call that a new leader has taken over, its legs being known.
 * The leader before may have died with any of it done: all of it may be repeated.
 */
export function resume(call: Call): readonly Act[] {
  const live = liveLegs(call);
  if (call.stage === "ending") return live.map(hangUpLeg);
  if (call.voice && call.position?.doing !== "bridged") return resumeVoice(call);
  // Its agents are rung in the step that stores whom: nothing can be left undone.
  if (call.stage === "agent") return [];
  const partner = live.find(hasTakenOver) ?? agentOnLine(call);
  const others = live.filter((leg) => leg.role === "agent" && leg !== partner).map(hangUpLeg);
  if (call.stage === "customer") return [...others, ...ringbackTo(partner)];
  const customer = live.find(({ role }) => role === "customer");
  // The agent has put the call through and left.
  if (!partner || !customer) return [...others, ...ringbackTo(customer)];
  const record = call.recording_state === "recording" ? [{ do: "record" } as const] : [];
  return [{ do: "bridge", legs: [partner.id, customer.id] }, ...record, ...others];
}

function hasTakenOver({ role, state }: Leg): boolean {
  return role === "transfer" && state === "answered";
}

function ringbackTo(leg: Leg | undefined): Act[] {
  return leg ? [{ do: "ringback", leg: leg.id }] : [];
}
