// Handles the end of a leg.
import type { Ending } from "../../../drivers/voice/driver.ts";
import { acceptName, type Call, type Leg, type Line } from "../call.ts";
import {
  endCall,
  finishIfOver,
  outcomeOfAgents,
  outcomeOfBlocker,
  outcomeOfCustomer,
  outcomeOfMissedAnswer,
  outcomeOfSilence,
  type Outcome,
} from "./end-call.ts";
import { lacksFirstWord } from "../call-outcomes.ts";
import type { CallEvent, Transition } from "../events-and-commands.ts";
import { dialCustomer } from "./dial-legs.ts";
import { findLeg, hangUpLeg, liveLegs, patchLeg, shownStatus } from "../legs.ts";
import { asksToAccept, talksToNoOne } from "./handle-leg-answered.ts";
import { outboxEvent } from "./outbox-event.ts";
import { endAnsweredCall } from "../play-to-caller.ts";
import { isTransferPending, transferTarget, tryNextAgent } from "./request-transfer-agent.ts";
import { pauseBeforeRing, ringsAgain } from "../ring-again.ts";
import { messageAtHangUp, withNotes } from "./walk-menu.ts";

/** Returns the event's transition, or null if the leg had already ended. */
export function handleLegEnded(
  call: Call,
  line: Line,
  event: CallEvent & { type: "ended" },
): Transition | null {
  const leg = findLeg(call, event.leg);
  if (leg === undefined || leg.state === "ended") return null;
  const next = endLeg(call, line, leg, event);
  return call.voice && leg.role === "customer" ? withNotes(next, messageAtHangUp(call)) : next;
}

/** Hangs up an agent who did not accept by the end of the prompt; null for any other playback. */
export function handleUnaccepted(
  call: Call,
  { leg: legId, playback }: CallEvent & { type: "played" },
): Transition | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "accepting" || playback !== acceptName(call, leg)) return null;
  return { call, events: [], commands: [hangUpLeg(leg)] };
}

function endLeg(
  call: Call,
  line: Line,
  leg: Leg,
  event: CallEvent & { type: "ended" },
): Transition {
  const { answered_at } = event;
  if (leg.answered_at !== null || !answered_at) return afterEnd(call, line, leg, event);
  // The answer was missed: the leg is billed, but the answer has no further effect. The parties did not talk.
  const state = asksToAccept(call, leg) ? "accepting" : leg.state;
  const status = talksToNoOne(call, leg) ? "canceled" : leg.status;
  const before = patchLeg(call, leg.id, { answered_at, state, status });
  const next = afterEnd(before, line, findLeg(before, leg.id)!, event);
  const answer = outboxEvent("call.answered", before, answered_at, { leg: leg.role });
  return { ...next, events: [answer, ...next.events] };
}

function afterEnd(
  call: Call,
  line: Line,
  leg: Leg,
  event: CallEvent & { type: "ended" },
): Transition {
  const { ending } = event;
  const at = endedAt(call, leg, event);
  const isUnaccepted = leg.state === "accepting";
  // A voicemail answered, or a person who did not press 1. A lost one still decides the call as lost.
  const outcome = isUnaccepted && ending.outcome === "hung_up" ? "no_answer" : ending.outcome;
  const over = patchLeg(call, leg.id, {
    state: "ended",
    status: isUnaccepted
      ? "no-answer"
      : leg.status === "canceled"
        ? "canceled"
        : shownStatus(outcome),
    ended_at: at,
    outcome,
    blocker: event.blocker ?? null,
    cause: ending.cause,
    sip_status: ending.sip_status,
  });
  if (call.stage === "ending") return finishIfOver(over, at);
  if (leg.role === "transfer" && (isUnaccepted || leg.answered_at === null))
    return afterTransferFailed(over, at);
  if (leg.role === "customer")
    return afterCustomerEnded(over, line, findLeg(over, leg.id)!, ending, at);
  return handleAgentEnded(over, leg, ending, at);
}

/** Returns when the leg ended: never before it rang, was answered or, if it was lost, was last reported. */
function endedAt(
  { seen_at }: Call,
  { initiated_at, ringing_at, answered_at }: Leg,
  { ending, at }: CallEvent & { type: "ended" },
): Date {
  const reported = ending.outcome === "lost" ? seen_at : null;
  return [initiated_at, ringing_at, answered_at, reported].reduce<Date>(
    (latest, time) => (time !== null && time > latest ? time : latest),
    at,
  );
}

function afterTransferFailed(call: Call, at: Date): Transition {
  if (call.voice && call.position?.doing !== "bridged") {
    // The content ended while the transfer of a user rang.
    if (isTransferPending(call) && transferTarget(call) === null)
      return endAnsweredCall(call, at, "transfer_not_answered");
    return tryNextAgent(call);
  }
  const [only, second] = liveLegs(call);
  if (second !== undefined || only === undefined) return { call, events: [], commands: [] };
  // The agent has hung up in the meantime, so the customer is alone.
  return endCall(call, at, {
    status: "completed",
    disposition: "answered",
    ended_reason: "transfer_not_answered",
    ended_by: "system",
  });
}

function afterCustomerEnded(
  call: Call,
  line: Line,
  leg: Leg,
  ending: Ending,
  at: Date,
): Transition {
  const hasAgent = liveLegs(call).some(({ role }) => role === "agent");
  const isAwaited = hasAgent || call.voice !== null;
  if (ending.outcome === "unplaced" && call.stage === "customer" && isAwaited) {
    const again = dialCustomer(call, line, at);
    return { call: again.call, events: [], commands: again.commands };
  }
  return endCall(call, at, outcomeAtCustomerEnd(call, leg, ending, at));
}

function outcomeAtCustomerEnd(call: Call, leg: Leg, ending: Ending, at: Date): Outcome {
  if (leg.blocker) return outcomeOfBlocker(leg.blocker);
  if (ending.outcome === "lost") return outcomeOfCustomer(leg, ending);
  const isMissed = call.stage === "customer" && leg.answered_at !== null;
  if (isMissed) return outcomeOfMissedAnswer(ending);
  const isSilence = lacksFirstWord(call, at) && !call.opted_out;
  return isSilence ? outcomeOfSilence(ending) : outcomeOfCustomer(leg, ending);
}

function handleAgentEnded(call: Call, leg: Leg, ending: Ending, at: Date): Transition {
  const left = liveLegs(call);
  if (call.stage === "agent") {
    if (left.length > 0) return { call, events: [], commands: [] };
    if (leg.answered_at !== null && leg.state !== "accepting")
      return endCall(call, at, agentHungUp(call, ending));
    if (ending.outcome === "unplaced") return chooseAgents(call, leg.number);
    const { policy_applied } = call.click_to_call;
    if (ringsAgain(call)) return pauseBeforeRing(call);
    if (policy_applied === "hangup" || policy_applied === "retry_agent")
      return endCall(call, at, outcomeOfAgents(call));
    return chooseAgents(call, null);
  }
  // Another agent has the call.
  const partner = left.find(({ role, state }) => role !== "customer" && state === "answered");
  if (partner) return { call, events: [], commands: [] };
  const customer = left.find(({ role }) => role === "customer");
  const isTransferring = left.some(({ role }) => role === "transfer");
  // The agent has transferred the call and hung up; the customer waits for the extension.
  if (isTransferring && customer)
    return { call, events: [], commands: [{ type: "ringback", leg: customer.id }] };
  return endCall(call, at, agentHungUp(call, ending));
}

function chooseAgents(call: Call, again: string | null): Transition {
  return { call, events: [], commands: [], request: { type: "choose_agents", again } };
}

function agentHungUp({ stage }: Call, { outcome }: Ending): Outcome {
  const talked = stage === "talking";
  const isLost = outcome === "lost";
  return {
    status: talked ? "completed" : isLost ? "failed" : "canceled",
    disposition: talked ? "answered" : isLost ? "lost" : "canceled",
    ended_reason: isLost ? "node_lost" : talked ? "hung_up" : "agent_hung_up",
    ended_by: isLost ? "system" : "agent",
  };
}
