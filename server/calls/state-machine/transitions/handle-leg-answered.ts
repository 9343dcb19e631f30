// Handles the answer of a leg.
import type { Call, Leg, Line } from "../call.ts";
import { dialCustomer } from "./dial-legs.ts";
import { endCall, outcomeOfBlocker } from "./end-call.ts";
import type { CallEvent, Transition } from "../events-and-commands.ts";
import { findLeg, hangUpLeg, liveLegs, patchLeg } from "../legs.ts";
import { outboxEvent, type OutboxEvent } from "./outbox-event.ts";
import { positionOf, stopPlaying } from "../play-to-caller.ts";
import { afterRecipientAnswered, bridgeToAgent } from "./handle-voice-event.ts";
import { messageAtHangUp } from "./walk-menu.ts";

/** Returns the event's transition, or null if the leg was already answered or has ended. */
export function handleLegAnswered(
  call: Call,
  line: Line,
  { leg: legId, at, blocker = null }: CallEvent & { type: "answered" },
): Transition | null {
  const leg = findLeg(call, legId);
  if (leg === undefined || leg.answered_at !== null || leg.state === "ended") return null;
  const answered = patchLeg(call, legId, {
    state: asksToAccept(call, leg) ? "accepting" : "answered",
    status: talksToNoOne(call, leg) ? "canceled" : "in-progress",
    answered_at: at,
  });
  const events = [outboxEvent("call.answered", answered, at, { leg: leg.role })];
  if (call.stage === "ending") return { call: answered, events, commands: [hangUpLeg(leg)] };
  if (leg.role === "agent" && call.stage === "agent" && blocker !== null) {
    const ended = endCall(answered, at, outcomeOfBlocker(blocker));
    return { ...ended, events: [...events, ...ended.events] };
  }
  const isWanted = leg.role === "agent" ? call.stage === "agent" : call.stage === "talking";
  if (asksToAccept(call, leg) && isWanted)
    return { call: answered, events, commands: [{ type: "ask_to_accept", leg: legId }] };
  return connectLeg(answered, line, leg, at, events);
}

/** Whether an agent's answer crossed the end of the call: it is billed, but the agent did not take the call. */
export function talksToNoOne({ stage }: Call, { role }: Leg): boolean {
  return stage === "ending" && role !== "customer";
}

/** Whether the agent must press 1 to accept, so that a voicemail never counts as an agent. */
export function asksToAccept({ settings }: Call, { role, on_trunk }: Leg): boolean {
  return settings.accept_audio !== null && role !== "customer" && on_trunk;
}

/** Connects an agent who presses 1; other keys have no effect. */
export function handleAcceptKey(
  call: Call,
  line: Line,
  leg: Leg,
  { digit, at, blocker = null }: CallEvent & { type: "digit" },
): Transition {
  const events = [outboxEvent("call.dtmf", call, at, { leg: leg.role, digit })];
  if (digit !== "1" || call.stage === "ending") return { call, events, commands: [] };
  const accepted = patchLeg(call, leg.id, { state: "answered" });
  if (call.stage === "agent" && blocker !== null) {
    const ended = endCall(accepted, at, outcomeOfBlocker(blocker));
    return { ...ended, events: [...events, ...ended.events] };
  }
  const next = connectLeg(accepted, line, leg, at, events);
  return { ...next, commands: [{ type: "stop_playing", leg: leg.id }, ...next.commands] };
}

function connectLeg(
  answered: Call,
  line: Line,
  leg: Leg,
  at: Date,
  events: OutboxEvent[],
): Transition {
  if (leg.role === "agent") return afterAgentAnswered(answered, line, leg, at, events);
  if (leg.role === "customer")
    return answered.voice
      ? afterRecipientAnswered(answered, leg, at, events)
      : afterCustomerAnswered(answered, leg, at, events);
  return afterTransferAnswered(answered, leg, at, events);
}

/** The first agent to answer takes the call; only now is the customer called. */
function afterAgentAnswered(
  call: Call,
  line: Line,
  agent: Leg,
  at: Date,
  events: OutboxEvent[],
): Transition {
  // Another agent of the group has answered first: this one is hung up.
  if (call.stage !== "agent") return { call, events, commands: [hangUpLeg(agent)] };
  const others = liveLegs(call).filter(({ id }) => id !== agent.id);
  const dialed = dialCustomer({ ...call, stage: "customer" }, line, at);
  return {
    call: dialed.call,
    events,
    commands: [...others.map(hangUpLeg), { type: "ringback", leg: agent.id }, ...dialed.commands],
  };
}

function afterCustomerAnswered(
  call: Call,
  customer: Leg,
  at: Date,
  events: OutboxEvent[],
): Transition {
  const agent = agentOnLine(call);
  // The agent has hung up: the event that ends the call is on its way.
  if (!agent) return { call, events, commands: [] };
  const talking: Call = {
    ...call,
    stage: "talking",
    status: "in-progress",
    answered_at: at,
    recording_state: call.settings.recorded ? "recording" : "none",
  };
  return {
    call: talking,
    events: [...events, outboxEvent("call.bridged", talking, at, { agent_number: agent.number })],
    commands: [
      { type: "stop_ringback", leg: agent.id },
      { type: "bridge", legs: [agent.id, customer.id] },
      ...(talking.recording_state === "recording" ? [{ type: "record" } as const] : []),
    ],
  };
}

/** Returns the agent's leg of the call: the first that was answered. Others may live a moment longer. */
export function agentOnLine(call: Call): Leg | undefined {
  return liveLegs(call)
    .filter(({ role, state }) => role === "agent" && state === "answered")
    .toSorted((a, b) => a.answered_at!.getTime() - b.answered_at!.getTime())[0];
}

/** Bridges the transfer target to the customer in the agent's place. */
function afterTransferAnswered(
  call: Call,
  target: Leg,
  at: Date,
  events: OutboxEvent[],
): Transition {
  const customer = liveLegs(call).find(({ role }) => role === "customer");
  if (call.stage !== "talking" || !customer) return { call, events, commands: [hangUpLeg(target)] };
  const others = liveLegs(call).filter((leg) => leg !== customer && leg.id !== target.id);
  const bridged = call.voice ? bridgeToAgent(call) : { call, commands: [] };
  const { doing, visit } = positionOf(call);
  const isRecording = doing === "recording";
  return {
    call: bridged.call,
    events: [
      ...events,
      outboxEvent("call.transferred", call, at, { transferred_to: target.number }),
    ],
    commands: [
      ...(call.voice ? stopPlaying(call) : []),
      // The switch does not bridge a leg whose message it records.
      ...(isRecording ? [{ type: "stop_message" as const, visit }] : []),
      { type: "stop_ringback", leg: customer.id },
      { type: "bridge", legs: [customer.id, target.id] },
      ...bridged.commands,
      ...others.map(hangUpLeg),
    ],
    ...(isRecording ? { notes: messageAtHangUp(call) } : {}),
  };
}
