// Resumes a call after its node leader changed or reconnected.
import type { Call, Leg } from "./call.ts";
import type { Command } from "./events-and-commands.ts";
import { agentOnLine } from "./transitions/handle-leg-answered.ts";
import { hangUpLeg, liveLegs } from "./legs.ts";
import { detect_ms, greeting_ms, listen_ms } from "./transitions/handle-voice-event.ts";
import { positionOf } from "./play-to-caller.ts";
import { pauseCommand, ringsAgain } from "./ring-again.ts";
import { transferTarget } from "./transitions/request-transfer-agent.ts";
import { menuOf, messageCommands } from "./transitions/walk-menu.ts";

/**
 * Returns the commands that bring the switch in line with a reconciled call. Each may be repeated, because
 * the previous node leader may have executed any of them before it died.
 */
export function resumeCommands(call: Call): readonly Command[] {
  const live = liveLegs(call);
  if (call.stage === "ending") return live.map(hangUpLeg);
  if (call.voice && call.position?.doing !== "bridged") return resumeVoiceCall(call);
  // Reconciliation dials agents' legs again.
  if (call.stage === "agent")
    return live.length === 0 && ringsAgain(call) ? [pauseCommand(call)] : askToAccept(live);
  const partner = live.findLast(hasTakenOver) ?? agentOnLine(call);
  const others = live
    .filter((leg) => (leg.role === "agent" || hasTakenOver(leg)) && leg !== partner)
    .map(hangUpLeg);
  if (call.stage === "customer") return [...others, ...ringbackTo(partner)];
  const customer = live.find(({ role }) => role === "customer");
  // The agent has transferred the call and hung up.
  if (!partner || !customer) return [...others, ...ringbackTo(customer)];
  const record = call.recording_state === "recording" ? [{ type: "record" } as const] : [];
  return [
    ...stopMessageBefore(call),
    { type: "bridge", legs: [partner.id, customer.id] },
    ...record,
    ...others,
  ];
}

/** The previous node leader may have died before it ended the message that the caller recorded until the transfer. */
function stopMessageBefore(call: Call): Command[] {
  const { node, visit } = positionOf(call);
  const isRecord = node !== null && menuOf(call)?.nodes[node]?.type === "record";
  return isRecord ? [{ type: "stop_message", visit: visit - 1 }] : [];
}

function hasTakenOver({ role, state }: Leg): boolean {
  return role === "transfer" && state === "answered";
}

function askToAccept(live: readonly Leg[]): Command[] {
  return live.flatMap(({ id, state }) =>
    state === "accepting" ? [{ type: "ask_to_accept" as const, leg: id }] : [],
  );
}

function ringbackTo(leg: Leg | undefined): Command[] {
  return leg ? [{ type: "ringback", leg: leg.id }] : [];
}

function resumeVoiceCall(call: Call): readonly Command[] {
  const { doing, visit, prompts } = positionOf(call);
  const leg = liveLegs(call).find(({ role }) => role === "customer");
  // Its answer was lost, or the previous node leader died before it.
  if (call.stage === "customer" && call.direction === "inbound" && leg)
    return [{ type: "answer", leg: leg.id }];
  if (call.stage !== "talking" || !leg) return [];
  switch (doing) {
    case "detecting":
      return [{ type: "wait", visit, ms: detect_ms }];
    case "greeting":
      return [
        { type: "await_silence", leg: leg.id },
        { type: "wait", visit, ms: greeting_ms },
      ];
    case "listening":
      return [{ type: "wait", visit, ms: listen_ms }];
    case "playing":
    case "asking":
      return [{ type: "play", leg: leg.id, visit, prompts }];
    case "apologizing":
      return prompts.length > 0
        ? [{ type: "play", leg: leg.id, visit, prompts }]
        : resumeWaiting(call, visit);
    case "waiting":
    case "recording":
      return resumeWaiting(call, visit);
    case "transferring": {
      const isRinging = liveLegs(call).some(({ role }) => role === "transfer");
      const to = transferTarget(call);
      const find: Command[] = !isRinging && to ? [{ type: "find_agent", to }] : [];
      return [{ type: "ringback", leg: leg.id }, ...find, ...askToAccept(liveLegs(call))];
    }
    case "conversing":
      return [{ type: "keep_conversation" }];
    case "bridged":
      return [];
  }
}

function resumeWaiting(call: Call, visit: number): Command[] {
  const { node: name } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  // The switch reports the end of a message again if it was missed.
  if (node?.type === "record") return messageCommands(call, node);
  const seconds = node && "timeout_seconds" in node ? node.timeout_seconds : 5;
  return [{ type: "wait", visit, ms: seconds * 1_000 }];
}
