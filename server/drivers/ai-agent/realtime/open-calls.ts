// The functions that the model calls, each once.
import type { AgentPlan, AgentTool } from "../driver.ts";
import { isLast, type Conversation } from "../open-conversation.ts";
import { readTool } from "./agent-tools.ts";
import type { ServerEvent } from "./read-server-event.ts";

/** A model that calls more often goes round in circles. */
const calls_max = 200;

export type Calls = {
  /** False when there were too many. */
  readonly take: (call: Extract<ServerEvent, { type: "call" }>) => boolean;
  /**
   * The caller spoke up, or pressed a key, before the last words were over: whoever asked not to be called
   * again, or for a person, gets that at once; the end of the call is off, the caller has more to say.
   */
  readonly interrupted: () => void;
};

export function openCalls(parts: {
  readonly plan: AgentPlan;
  readonly conversation: Conversation;
  readonly send: (event: object) => void;
  /** Asks for the model's next answer. */
  readonly ask: () => void;
}): Calls {
  const { plan, conversation, send, ask } = parts;
  const taken = new Set<string>();
  /** What ends the conversation once the words before it were played. */
  let last: {
    readonly call: string;
    readonly tool: AgentTool;
    readonly cancel: () => void;
  } | null = null;
  const answer = (call: string, output: object) =>
    send({
      type: "conversation.item.create",
      item: { type: "function_call_output", call_id: call, output: JSON.stringify(output) },
    });
  return {
    take({ call, name, args }) {
      if (last !== null || taken.has(call)) return true;
      if (taken.size >= calls_max) return false;
      taken.add(call);
      const tool = readTool(plan, name, args);
      if (typeof tool === "string") {
        answer(call, { error: tool });
        ask();
      } else if (isLast(tool)) {
        const holder = { call, tool, cancel: () => {} };
        last = holder;
        holder.cancel = conversation.afterPlayed(() => conversation.tool(tool));
      } else {
        conversation.tool(tool);
        answer(call, { ok: true });
        ask();
      }
      return true;
    },
    interrupted() {
      if (last === null) return;
      const { call, tool, cancel } = last;
      last = null;
      cancel();
      if (tool.name === "end_call") answer(call, { error: "the caller is not done yet" });
      else conversation.tool(tool);
    },
  };
}
