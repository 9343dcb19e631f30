// Transfers to the extension of a key or an API request, and of a voice call's caller to an agent.
import type { Call, Line } from "../call.ts";
import { silentEnd } from "../agents-busy.ts";
import { apologize, promptWithoutAgent } from "./apologize.ts";
import { dialAgents } from "./dial-legs.ts";
import type { CallEvent, Command, CreditPurpose, Transition } from "../events-and-commands.ts";
import { liveLegs } from "../legs.ts";
import { outboxEvent } from "./outbox-event.ts";
import { callerOf, positionOf } from "../play-to-caller.ts";
import { isTransferPending } from "./request-transfer-agent.ts";
import { enterNode, menuOf, setField } from "./walk-menu.ts";

type TransferPurpose = CreditPurpose & { type: "transfer" };

/** Requests credit for the leg to the extension, if a transfer is possible. */
export function handleTransferRequested(
  call: Call,
  line: Line,
  { by, to, at }: CallEvent & { type: "transfer_requested" },
): Transition | null {
  if (to === null || !canTransfer(call)) return null;
  return requestLeg(call, line, { type: "transfer", by, to }, at);
}

/** Requests the agent for the caller of a voice call. */
export function handleAgentRequested(
  call: Call,
  { to }: CallEvent & { type: "agent_requested" },
): Transition | null {
  if (!canTransferCaller(call)) return null;
  return { call, events: [], commands: [], request: { type: "choose_transfer_agent", to } };
}

/** Requests credit for the leg to the agent; if no agent is left, the call continues without one. */
export function handleAgentFound(
  call: Call,
  line: Line,
  { to, at }: CallEvent & { type: "agent_found" },
): Transition | null {
  if (!canTransferCaller(call)) return null;
  if (to === null) return afterNoAgentFound(call, at);
  const purpose = { type: "transfer", by: "system", to } as const;
  return requestLeg(call, line, purpose, at);
}

/** Dials the paid leg, if the transfer is still possible. */
export function dialTransfer(
  call: Call,
  line: Line,
  { by, to }: TransferPurpose,
  at: Date,
): Transition | null {
  const isPossible = by === "system" ? canTransferCaller(call) : canTransfer(call);
  if (!isPossible) return null;
  const dialed = dialAgents(call, line, "transfer", [to], at);
  const event = outboxEvent("call.transferring", dialed.call, at, { by, to: to.number });
  return { ...dialed, events: [event] };
}

/** Drops a transfer without credit; a voice call continues as if no agent were free. */
export function handleTransferRefused(
  call: Call,
  { by }: TransferPurpose,
  at: Date,
): Transition | null {
  return by === "system" && canTransferCaller(call) ? afterNoAgentFound(call, at) : null;
}

function requestLeg(call: Call, line: Line, purpose: TransferPurpose, at: Date): Transition | null {
  // An inbound call is free.
  if (call.direction === "inbound") return dialTransfer(call, line, purpose, at);
  const request = { type: "reserve_credit", amount: 1, purpose } as const;
  return { call, events: [], commands: [], request };
}

/** Returns whether agent and customer are talking and no other transfer is pending. */
function canTransfer(call: Call): boolean {
  const isPending = liveLegs(call).some(
    ({ role, state }) => role === "transfer" && state !== "answered",
  );
  const hasCustomer = liveLegs(call).some(({ role }) => role === "customer");
  return call.stage === "talking" && hasCustomer && !isPending;
}

function canTransferCaller(call: Call): boolean {
  return isTransferPending(call) && !liveLegs(call).some(({ role }) => role === "transfer");
}

/**
 * Continues a menu at `otherwise`, where no end is silent; apologizes to the caller of an AI agent, and in place of a
 * silent hang-up.
 */
function afterNoAgentFound(call: Call, at: Date): Transition {
  const { node: name } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  const stop: Command = { type: "stop_ringback", leg: callerOf(call) };
  const otherwise = node?.type === "transfer" ? node.otherwise : null;
  const end = otherwise === null ? null : silentEnd(menuOf(call)!, otherwise);
  const next =
    otherwise === null || end?.type === "hang_up"
      ? apologize((end?.setters ?? []).reduce(setField, call))
      : enterNode(call, otherwise, at, end && promptWithoutAgent(call, end.type));
  return { ...next, commands: [stop, ...next.commands] };
}
