// A leg was answered.
import type { Call, Leg, Line } from "./call.ts";
import { endCall, outcomeOfObstacle } from "./end-call.ts";
import type { Act, CallEvent, Step } from "./events-and-acts.ts";
import { addLeg, findLeg, hangUpLeg, liveLegs, patchLeg } from "./legs.ts";
import { news, type News } from "./news.ts";
import { stopPlaying } from "./play-to-caller.ts";
import { afterCalledAnswered, afterPutThrough } from "./step-voice.ts";

/** The step that follows, or null when it was answered before or is over. */
export function hearAnswer(
  call: Call,
  line: Line,
  { leg: legId, at, against = null }: CallEvent & { type: "answered" },
): Step | null {
  const leg = findLeg(call, legId);
  if (leg === undefined || leg.answered_at !== null || leg.state === "ended") return null;
  const answered = patchLeg(call, legId, {
    state: "answered",
    status: "in-progress",
    answered_at: at,
  });
  const told = [news("call.answered", answered, at, { leg: leg.role })];
  if (call.stage === "ending") return { call: answered, news: told, acts: [hangUpLeg(leg)] };
  if (leg.role === "agent" && call.stage === "agent" && against !== null) {
    const ending = endCall(answered, at, outcomeOfObstacle(against));
    return { ...ending, news: [...told, ...ending.news] };
  }
  if (leg.role === "agent") return afterAgentAnswered(answered, line, leg, at, told);
  if (leg.role === "customer")
    return call.voice
      ? afterCalledAnswered(answered, leg, at, told)
      : afterCustomerAnswered(answered, leg, at, told);
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

/** Calls the customer: only ever once an agent is on the line. */
export function dialCustomer(call: Call, line: Line, at: Date): { call: Call; acts: Act[] } {
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
  const agent = agentOnLine(call);
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

/** Who has the call: the first who answered. Others who were rung may live a moment longer. */
export function agentOnLine(call: Call): Leg | undefined {
  return liveLegs(call)
    .filter(({ role, state }) => role === "agent" && state === "answered")
    .toSorted((a, b) => a.answered_at!.getTime() - b.answered_at!.getTime())[0];
}

/** The extension takes the agent's place. */
function afterTransferAnswered(call: Call, target: Leg, at: Date, told: News[]): Step {
  const customer = liveLegs(call).find(({ role }) => role === "customer");
  if (call.stage !== "talking" || !customer) return { call, news: told, acts: [hangUpLeg(target)] };
  const others = liveLegs(call).filter((leg) => leg !== customer && leg.id !== target.id);
  const through = call.voice ? afterPutThrough(call) : { call, acts: [] };
  return {
    call: through.call,
    news: [...told, news("call.transferred", call, at, { transferred_to: target.number })],
    acts: [
      ...(call.voice ? stopPlaying(call) : []),
      { do: "stop_ringback", leg: customer.id },
      { do: "bridge", legs: [customer.id, target.id] },
      ...through.acts,
      ...others.map(hangUpLeg),
    ],
  };
}
