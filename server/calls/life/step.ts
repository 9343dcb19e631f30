// What happens next on a call, as a pure function: a call and something that happened give the call
// after it, what is told of it, and what the switch is to do once that is stored.
import type { DialTarget, Ending } from "../../drivers/voice/driver.ts";
import type { Agent, Call, Leg, Line } from "./call.ts";
import { endCall, finishIfOver, outcomeOfAgents, outcomeOfCustomer } from "./end-call.ts";
import { addLeg, findLeg, liveLegs, patchLeg, shownStatus } from "./legs.ts";
import { news, type News } from "./news.ts";

/** What can happen to a call. Legs by their id within it. */
export type CallEvent = { readonly at: Date } & (
  | { readonly type: "placed"; readonly against: Obstacle | null }
  /** Who is to be rung now, all at once; nobody: there is nobody left. */
  | { readonly type: "agents"; readonly agents: readonly Agent[] }
  | { readonly type: "ringing" | "answered"; readonly leg: number }
  | { readonly type: "digit"; readonly leg: number; readonly digit: string }
  | { readonly type: "ended"; readonly leg: number; readonly ending: Ending }
  /** The extension of a key or of a command; null: the account maps none to it, or cannot pay the leg. */
  | { readonly type: "transfer"; readonly by: TransferredBy; readonly to: Agent | null }
  | { readonly type: "hangup"; readonly reason: "hung_up_by_api" | "credit" }
  | { readonly type: "recorded"; readonly ok: boolean }
);

/** What may stand against a call at the moment it would be placed. */
export type Obstacle = "suppressed" | "already_in_call" | "night_window";
export type TransferredBy = "agent" | "customer" | "api";

/** What the leader is to do, in this order, once the step is stored. */
export type Act =
  /** Answered by `agents`. `again`: ring this one once more, its leg never reached it. */
  | { readonly do: "choose_agents"; readonly again: string | null }
  /** Answered by `transfer`. */
  | { readonly do: "find_extension"; readonly digit: string; readonly by: TransferredBy }
  | {
      readonly do: "dial";
      readonly leg: number;
      readonly to: DialTarget;
      readonly caller_id: string;
      readonly ring_seconds: number;
    }
  | { readonly do: "hang_up"; readonly leg: number }
  | { readonly do: "ringback" | "stop_ringback"; readonly leg: number }
  | { readonly do: "bridge"; readonly legs: readonly number[] }
  | { readonly do: "record" }
  | { readonly do: "end_bridge" };

export type Step = {
  readonly call: Call;
  readonly news: readonly News[];
  readonly acts: readonly Act[];
};

/** The step that follows, or null when the event changes nothing (it came late, twice, or means nothing here). */
export function step(call: Call, line: Line, event: CallEvent): Step | null {
  if (call.stage === "ended") return null;
  switch (event.type) {
    case "placed":
      return place(call, event.against, event.at);
    case "agents":
      return ringAgents(call, line, event.agents, event.at);
    case "ringing":
      return hearRinging(call, event.leg, event.at);
    case "answered":
      return hearAnswer(call, line, event.leg, event.at);
    case "digit":
      return hearDigit(call, event.leg, event.digit, event.at);
    case "ended":
      return hearEnd(call, line, event.leg, event.ending, event.at);
    case "transfer":
      return transfer(call, line, event.by, event.to, event.at);
    case "hangup":
      return hangUp(call, event.reason, event.at);
    case "recorded":
      return hearRecorded(call, event.ok, event.at);
  }
}

function place(call: Call, against: Obstacle | null, at: Date): Step | null {
  if (call.stage !== "agent" || call.initiated_at !== null) return null;
  if (against !== null) {
    return endCall(call, at, {
      status: "canceled",
      disposition: "canceled",
      ended_reason: against,
      ended_by: "system",
    });
  }
  const placed: Call = { ...call, status: "ringing", initiated_at: at };
  return {
    call: placed,
    news: [news("call.initiated", placed, at)],
    acts: [{ do: "choose_agents", again: null }],
  };
}

function ringAgents(call: Call, line: Line, agents: readonly Agent[], at: Date): Step | null {
  if (call.stage !== "agent" || liveLegs(call).length > 0) return null;
  if (agents.length === 0) return endCall(call, at, outcomeOfAgents(call));
  return dialAll(call, line, "agent", agents, at);
}

/** Legs to each; whoever is called sees the customer's number on a phone of ours. */
function dialAll(
  call: Call,
  line: Line,
  role: "agent" | "transfer",
  agents: readonly Agent[],
  at: Date,
): Step {
  const { agent_ring_seconds: ring_seconds } = call.settings;
  let dialled = call;
  const acts: Act[] = agents.map(({ number, target }) => {
    const on_trunk = target.kind === "trunk";
    dialled = addLeg(dialled, { role, number, on_trunk }, at);
    const caller_id = on_trunk ? line.caller_id : call.to_number;
    return { do: "dial", leg: dialled.legs.length, to: target, caller_id, ring_seconds };
  });
  return { call: dialled, news: [], acts };
}

function hearRinging(call: Call, legId: number, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "dialing") return null;
  const next = patchLeg(call, legId, { state: "ringing", status: "ringing", ringing_at: at });
  const ringing: Call =
    leg.role === "customer" && call.ringing_at === null ? { ...next, ringing_at: at } : next;
  return { call: ringing, news: [news("call.ringing", ringing, at, { leg: leg.role })], acts: [] };
}

function hearAnswer(call: Call, line: Line, legId: number, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg === undefined || leg.answered_at !== null || leg.state === "ended") return null;
  const answered = patchLeg(call, legId, {
    state: "answered",
    status: "in-progress",
    answered_at: at,
  });
  const told = [news("call.answered", answered, at, { leg: leg.role })];
  if (call.stage === "ending") return { call: answered, news: told, acts: [hangUpLeg(leg)] };
  if (leg.role === "agent") return afterAgentAnswered(answered, line, leg, at, told);
  if (leg.role === "customer") return afterCustomerAnswered(answered, leg, at, told);
  return afterTransferAnswered(answered, leg, at, told);
}

/** The first agent to answer has the call; only now the customer is called (I10). */
function afterAgentAnswered(call: Call, line: Line, agent: Leg, at: Date, told: News[]): Step {
  // Two of a group at once: the second is let go.
  if (call.stage !== "agent") return { call, news: told, acts: [hangUpLeg(agent)] };
  const others = liveLegs(call).filter(({ id }) => id !== agent.id);
  const dialled = dialCustomer({ ...call, stage: "customer" }, line, at);
  return {
    call: dialled.call,
    news: told,
    acts: [...others.map(hangUpLeg), { do: "ringback", leg: agent.id }, ...dialled.acts],
  };
}

function dialCustomer(call: Call, line: Line, at: Date): { call: Call; acts: Act[] } {
  const of = { role: "customer", number: call.to_phone, on_trunk: true } as const;
  const dialled = addLeg(call, of, at);
  const act: Act = {
    do: "dial",
    leg: dialled.legs.length,
    to: line.customer,
    caller_id: line.caller_id,
    ring_seconds: call.settings.customer_ring_seconds,
  };
  return { call: dialled, acts: [act] };
}

function afterCustomerAnswered(call: Call, customer: Leg, at: Date, told: News[]): Step {
  const agent = liveLegs(call).find(({ role }) => role === "agent");
  // The agent's end is on its way to us; it ends the call.
  if (!agent) return { call, news: told, acts: [] };
  const talking: Call = {
    ...call,
    stage: "talking",
    status: "in-progress",
    answered_at: at,
    recording_state: call.settings.recorded ? "recording" : "none",
  };
  return {
    call: talking,
    news: [...told, news("call.bridged", talking, at, { agent_number: agent.number })],
    acts: [
      { do: "stop_ringback", leg: agent.id },
      { do: "bridge", legs: [agent.id, customer.id] },
      ...(talking.recording_state === "recording" ? [{ do: "record" } as const] : []),
    ],
  };
}

/** The extension takes the agent's place. */
function afterTransferAnswered(call: Call, target: Leg, at: Date, told: News[]): Step {
  const customer = liveLegs(call).find(({ role }) => role === "customer");
  if (call.stage !== "talking" || !customer) return { call, news: told, acts: [hangUpLeg(target)] };
  const others = liveLegs(call).filter((leg) => leg !== customer && leg.id !== target.id);
  return {
    call,
    news: [...told, news("call.transferred", call, at, { transferred_to: target.number })],
    acts: [
      { do: "stop_ringback", leg: customer.id },
      { do: "bridge", legs: [customer.id, target.id] },
      ...others.map(hangUpLeg),
    ],
  };
}

function hearDigit(call: Call, legId: number, digit: string, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg === undefined || leg.state !== "answered") return null;
  const { extension_for_transfer, extension_for_dis } = call.plan;
  const isCustomer = leg.role === "customer";
  const pressed: Call = isCustomer
    ? { ...call, dtmf: call.dtmf + digit }
    : { ...call, starred: digit === "*" };
  const asks =
    call.stage === "talking" &&
    (isCustomer ? digit === extension_for_dis : call.starred && digit === extension_for_transfer);
  const by = isCustomer ? "customer" : "agent";
  return {
    call: pressed,
    news: [news("call.dtmf", pressed, at, { leg: leg.role, digit })],
    acts: asks ? [{ do: "find_extension", digit, by }] : [],
  };
}

/** The two go on talking until the extension answers; if it does not, nothing has changed for them. */
function transfer(
  call: Call,
  line: Line,
  by: TransferredBy,
  to: Agent | null,
  at: Date,
): Step | null {
  const isUnderWay = liveLegs(call).some(
    ({ role, state }) => role === "transfer" && state !== "answered",
  );
  const isTalking = liveLegs(call).some(({ role }) => role === "customer");
  if (to === null || call.stage !== "talking" || isUnderWay || !isTalking) return null;
  const dialled = dialAll(call, line, "transfer", [to], at);
  return { ...dialled, news: [news("call.transferring", dialled.call, at, { by, to: to.number })] };
}

function hearEnd(call: Call, line: Line, legId: number, ending: Ending, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg === undefined || leg.state === "ended") return null;
  const over = patchLeg(call, legId, {
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
  if (ending.outcome === "unplaced" && call.stage === "customer" && hasAgent) {
    const again = dialCustomer(call, line, at);
    return { call: again.call, news: [], acts: again.acts };
  }
  return endCall(call, at, outcomeOfCustomer(leg, ending));
}

function afterAgentEnded(call: Call, leg: Leg, ending: Ending, at: Date): Step {
  const left = liveLegs(call);
  if (call.stage === "agent") {
    if (left.length > 0) return { call, news: [], acts: [] };
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
  const talked = call.stage === "talking";
  return endCall(call, at, {
    status: talked ? "completed" : "canceled",
    disposition: talked ? "answered" : "canceled",
    ended_reason: ending.outcome === "lost" ? "node_lost" : talked ? "hung_up" : "agent_hung_up",
    ended_by: ending.outcome === "lost" ? "system" : "agent",
  });
}

function hangUp(call: Call, reason: "hung_up_by_api" | "credit", at: Date): Step | null {
  if (call.stage === "ending") return null;
  const talked = call.stage === "talking";
  return endCall(call, at, {
    status: talked ? "completed" : "canceled",
    disposition: talked ? "answered" : "canceled",
    ended_reason: reason,
    ended_by: reason === "credit" ? "system" : "api",
  });
}

function hearRecorded(call: Call, ok: boolean, at: Date): Step | null {
  if (call.recording_state !== "recording") return null;
  const recorded: Call = { ...call, recording_state: ok ? "ready" : "failed" };
  const told = ok ? [news("call.recording.ready", recorded, at)] : [];
  if (call.stage !== "ending") return { call: recorded, news: told, acts: [] };
  const over = finishIfOver(recorded, at);
  return { ...over, news: [...told, ...over.news] };
}

/** What is to be done at the switch for a call that a new leader has taken over, its legs being known. */
export function resume(call: Call): readonly Act[] {
  const live = liveLegs(call);
  const agent = live.find(({ role, state }) => role === "agent" && state === "answered");
  const answered = live.filter(({ state }) => state === "answered").map(({ id }) => id);
  if (call.stage === "ending") return live.map(hangUpLeg);
  if (call.stage === "agent" && live.length === 0) return [{ do: "choose_agents", again: null }];
  if (call.stage === "customer" && agent) return [{ do: "ringback", leg: agent.id }];
  if (call.stage === "talking") {
    const record = call.recording_state === "recording" ? [{ do: "record" } as const] : [];
    return [{ do: "bridge", legs: answered }, ...record];
  }
  return [];
}

function hangUpLeg({ id }: Leg): Act {
  return { do: "hang_up", leg: id };
}
