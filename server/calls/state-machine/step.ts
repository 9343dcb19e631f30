// What happens next on a call, as a pure function: a call and something that happened give the call
// after it, what is told of it, and what the switch is to do once that is stored.
import { recordingPath, type Agent, type Call, type Line } from "./call.ts";
import { endCall, finishIfOver, outcomeOfAgents, outcomeOfObstacle } from "./end-call.ts";
import type { Act, CallEvent, Obstacle, Step, TransferredBy } from "./events-and-acts.ts";
import { hearAnswer } from "./hear-answer.ts";
import { hearEnd } from "./hear-end.ts";
import { addLeg, findLeg, liveLegs, patchLeg } from "./legs.ts";
import { news } from "./news.ts";
import {
  afterNobodyFound,
  hearCallerDigit,
  isConversing,
  isSought,
  stepVoice,
} from "./step-voice.ts";

/** The step that follows, or null when the event changes nothing (it came late, twice, or means nothing here). */
export function step(call: Call, line: Line, event: CallEvent): Step | null {
  if (call.stage === "ended") return null;
  const next = take(call, line, event);
  const hasLeft = next && isConversing(call) && !isConversing(next.call);
  return hasLeft ? { ...next, acts: [{ do: "end_conversation" }, ...next.acts] } : next;
}

function take(call: Call, line: Line, event: CallEvent): Step | null {
  switch (event.type) {
    case "placed":
      return place(call, event.against, event.at);
    case "agents":
      return ringAgents(call, line, event.agents, event.at);
    case "ringing":
      return hearRinging(call, event.leg, event.at);
    case "answered":
      return hearAnswer(call, line, event);
    case "digit":
      return hearDigit(call, event.leg, event.digit, event.at);
    case "ended":
      return hearEnd(call, line, event);
    case "transfer":
      return transfer(call, line, event.by, event.to, event.at);
    case "hangup":
      return hangUp(call, event.reason, event.at);
    case "recorded":
      return hearRecorded(call, event.ok, event.at);
    case "agent_found":
      return putThrough(call, line, event.to, event.at);
    default:
      return stepVoice(call, event);
  }
}

function place(call: Call, against: Obstacle | null, at: Date): Step | null {
  if (call.stage !== "agent" || call.initiated_at !== null) return null;
  if (against !== null) {
    return endCall(call, at, outcomeOfObstacle(against));
  }
  const placed: Call = { ...call, status: "ringing", initiated_at: at };
  return {
    call: placed,
    news: [news("call.initiated", placed, at, {})],
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

function hearDigit(call: Call, legId: number, digit: string, at: Date): Step | null {
  const leg = findLeg(call, legId);
  if (leg?.state !== "answered") return null;
  const { extension_for_transfer, extension_for_dis } = call.plan;
  const isCustomer = leg.role === "customer";
  const pressed: Call = isCustomer
    ? { ...call, dtmf: call.dtmf + digit }
    : { ...call, starred: digit === "*" };
  const told = news("call.dtmf", pressed, at, { leg: leg.role, digit });
  if (call.voice && isCustomer && call.stage === "talking") {
    const next = hearCallerDigit(pressed, digit, at) ?? { call: pressed, news: [], acts: [] };
    return { ...next, news: [told, ...next.news] };
  }
  const asks =
    call.stage === "talking" &&
    (isCustomer ? digit === extension_for_dis : call.starred && digit === extension_for_transfer);
  const by = isCustomer ? "customer" : "agent";
  return {
    call: pressed,
    news: [told],
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

/** Rings the agent who was found for the caller of a campaign's call. */
function putThrough(call: Call, line: Line, to: Agent | null, at: Date): Step | null {
  if (!isSought(call)) return null;
  if (liveLegs(call).some(({ role }) => role === "transfer")) return null;
  if (to === null) return afterNobodyFound(call, at);
  const dialled = dialAll(call, line, "transfer", [to], at);
  const told = news("call.transferring", dialled.call, at, { by: "system", to: to.number });
  return { ...dialled, news: [told] };
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
  const told = ok
    ? [news("call.recording.ready", recorded, at, { recording_url: recordingPath(call) })]
    : [];
  if (call.stage !== "ending") return { call: recorded, news: told, acts: [] };
  const over = finishIfOver(recorded, at);
  return { ...over, news: [...told, ...over.news] };
}
