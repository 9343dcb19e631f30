// Puts whoever answered a campaign's call through to an agent.
import type { Call } from "./call.ts";
import type { Step } from "./events-and-acts.ts";
import type { TransferTarget } from "./menu.ts";
import { callerOf, moveTo, positionOf } from "./play-to-caller.ts";

/** Has an agent looked for; the caller hears it ring meanwhile. */
export function seekAgent(call: Call, to: TransferTarget): Step {
  const seeking = moveTo(call, { doing: "transferring" });
  const acts = [
    { do: "ringback", leg: callerOf(call) },
    { do: "find_agent", to },
  ] as const;
  return { call: seeking, news: [], acts };
}

/** The one who was rung did not answer: the next, where the call is still being put through. */
export function seekNext(call: Call): Step {
  const to = targetOf(call);
  const isSeeking = positionOf(call).doing === "transferring" && to !== null;
  return { call, news: [], acts: isSeeking ? [{ do: "find_agent", to }] : [] };
}

/** Where the call is being transferred to, by its menu's node or its AI agent. */
export function targetOf(call: Call): TransferTarget | null {
  const content = call.voice?.content;
  if (content?.call_type === "ai_bot") return content.transfer_to;
  const name = positionOf(call).node;
  if (content?.call_type !== "obd_ivr" || name === null) return null;
  const node = content.menu.nodes[name];
  return node?.type === "transfer" ? node.to : null;
}
