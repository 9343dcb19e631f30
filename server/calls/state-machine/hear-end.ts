// A leg is over.
import type { Ending } from "../../drivers/voice/driver.ts";
import type { Call, Leg, Line } from "./call.ts";
import {
  endCall,
  finishIfOver,
  outcomeOfAgents,
  outcomeOfCustomer,
  type Outcome,
} from "./end-call.ts";
import type { CallEvent, Step } from "./events-and-acts.ts";
import { dialCustomer } from "./hear-answer.ts";
import { findLeg, liveLegs, patchLeg, shownStatus } from "./legs.ts";
import { news } from "./news.ts";
import { seekNext } from "./seek-agent.ts";
import { messageAtHangUp, note } from "./walk-menu.ts";

/** The step that follows, or null when it was over before. */
export function hearEnd(call: Call, line: Line, event: CallEvent & { type: "ended" }): Step | null {
  const leg = findLeg(call, event.leg);
  if (leg === undefined || leg.state === "ended") return null;
  const next = endLeg(call, line, leg, event);
  return call.voice && leg.role === "customer" ? note(next, messageAtHangUp(call)) : next;
}

function endLeg(call: Call, line: Line, leg: Leg, event: CallEvent & { type: "ended" }): Step {
  const { answered_at } = event;
  if (leg.answered_at !== null || !answered_at) return afterEnd(call, line, leg, event);
  // Answered while nobody listened: it is billed, but nobody is called any more on the strength of it.
  const answered = patchLeg(call, leg.id, { answered_at });
  const isCustomer = leg.role === "customer" && call.answered_at === null;
  const before = isCustomer ? { ...answered, answered_at } : answered;
  const next = afterEnd(before, line, findLeg(before, leg.id)!, event);
  const told = news("call.answered", before, answered_at, { leg: leg.role });
  return { ...next, news: [told, ...next.news] };
}

function afterEnd(
  call: Call,
  line: Line,
  leg: Leg,
  { ending, at }: CallEvent & { type: "ended" },
): Step {
  const over = patchLeg(call, leg.id, {
    state: "ended",
    status: shownStatus(ending.outcome),
    ended_at: at,
    outcome: ending.outcome,
    cause: ending.cause,
    sip_status: ending.sip_status,
  });
  if (call.stage === "ending") return finishIfOver(over, at);
  if (leg.role === "transfer" && leg.answered_at === null) return afterTransferFailed(over, at);
  if (leg.role === "customer") return afterCustomerEnded(over, line, leg, ending, at);
  return afterAgentEnded(over, leg, ending, at);
}

function afterTransferFailed(call: Call, at: Date): Step {
  if (call.voice && call.position?.doing !== "bridged") return seekNext(call);
  const [only, second] = liveLegs(call);
  if (second !== undefined || only === undefined) return { call, news: [], acts: [] };
  // The agent has hung up meanwhile: nobody is left for the customer.
  return endCall(call, at, {
    status: "completed",
    disposition: "answered",
    ended_reason: "transfer_not_answered",
    ended_by: "system",
  });
}

function afterCustomerEnded(call: Call, line: Line, leg: Leg, ending: Ending, at: Date): Step {
  const hasAgent = liveLegs(call).some(({ role }) => role === "agent");
  const isWanted = hasAgent || call.voice !== null;
  if (ending.outcome === "unplaced" && call.stage === "customer" && isWanted) {
    const again = dialCustomer(call, line, at);
    return { call: again.call, news: [], acts: again.acts };
  }
  return endCall(call, at, outcomeOfCustomer(leg, ending));
}

function afterAgentEnded(call: Call, leg: Leg, ending: Ending, at: Date): Step {
  const left = liveLegs(call);
  if (call.stage === "agent") {
    if (left.length > 0) return { call, news: [], acts: [] };
    if (leg.answered_at !== null) return endCall(call, at, agentHungUp(call, ending));
    if (ending.outcome === "unplaced")
      return { call, news: [], acts: [{ do: "choose_agents", again: leg.number }] };
    if (call.plan.policy_applied === "hangup") return endCall(call, at, outcomeOfAgents(call));
    return { call, news: [], acts: [{ do: "choose_agents", again: null }] };
  }
  // One of several that was let go, or whose place another has taken.
  const partner = left.find(({ role, state }) => role !== "customer" && state === "answered");
  if (partner) return { call, news: [], acts: [] };
  const customer = left.find(({ role }) => role === "customer");
  const isTransferring = left.some(({ role }) => role === "transfer");
  // The agent has put the call through and left; the customer waits for the extension.
  if (isTransferring && customer)
    return { call, news: [], acts: [{ do: "ringback", leg: customer.id }] };
  return endCall(call, at, agentHungUp(call, ending));
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
