// The transfer of a voice call's caller to an agent.
import type { Call } from "../call.ts";
import type { Transition } from "../events-and-commands.ts";
import type { TransferTarget } from "../menu.ts";
import { callerOf, moveTo, positionOf } from "../play-to-caller.ts";

/** Looks for an agent, with ringback to the caller. */
export function requestTransferAgent(call: Call, to: TransferTarget): Transition {
  // Until an agent is connected, the caller counts as abandoned.
  const to_agent = { doing: "transferring", legs_before: call.legs.length } as const;
  const transferring = { ...moveTo(call, to_agent), abandoned: true };
  const commands = [
    { type: "ringback", leg: callerOf(call) },
    { type: "find_agent", to },
  ] as const;
  return { call: transferring, events: [], commands };
}

/** Looks for the next agent after one did not answer, while the transfer is still pending. */
export function tryNextAgent(call: Call): Transition {
  const to = transferTarget(call);
  const isPending = positionOf(call).doing === "transferring" && to !== null;
  return { call, events: [], commands: isPending ? [{ type: "find_agent", to }] : [] };
}

/**
 * Returns the transfer target of the menu's current node or of the AI agent's plan; null without one, and once the content
 * is over.
 */
export function transferTarget(call: Call): TransferTarget | null {
  if (positionOf(call).is_content_over) return null;
  const content = call.voice?.content;
  if (content?.call_type === "ai_bot") return content.transfer_to;
  const name = positionOf(call).node;
  if (content?.call_type !== "obd_ivr" || name === null) return null;
  const node = content.menu.nodes[name];
  return node?.type === "transfer" ? node.to : null;
}

/** Whether the caller waits for an agent. */
export function isTransferPending(call: Call): boolean {
  return call.stage === "talking" && positionOf(call).doing === "transferring";
}
