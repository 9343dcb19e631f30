// Handles the model's function calls, each once.
import type { AiAgentPlan, AiAgentTool } from "../driver.ts";
import { isLast, type Conversation } from "../open-conversation.ts";
import { readTool } from "./ai-agent-tools.ts";
import type { ServerEvent } from "./read-server-event.ts";

/** A model that calls more functions is considered to loop. */
const calls_max = 200;

export type ToolCalls = {
  /** Handles a call; returns false after too many. */
  readonly handle: (call: Extract<ServerEvent, { type: "function_call" }>) => boolean;
  /**
   * Handles a caller who speaks or presses a key during the final audio: an opt-out or a transfer takes effect at
   * once; the end of the call is canceled, because the caller has more to say.
   */
  readonly handleInterruption: () => void;
};

export function openToolCalls(parts: {
  readonly plan: AiAgentPlan;
  readonly conversation: Conversation;
  readonly send: (event: object) => void;
  /** Requests the model's next response. */
  readonly requestResponse: () => void;
}): ToolCalls {
  const { plan, conversation, send, requestResponse } = parts;
  const handled = new Set<string>();
  /** The call that ends the conversation once the audio before it is played. */
  let last: {
    readonly call: string;
    readonly tool: AiAgentTool;
    readonly cancel: () => void;
  } | null = null;
  const sendOutput = (call: string, output: object) =>
    send({
      type: "conversation.item.create",
      item: { type: "function_call_output", call_id: call, output: JSON.stringify(output) },
    });
  return {
    handle({ call, name, args }) {
      if (last !== null || handled.has(call)) return true;
      if (handled.size >= calls_max) return false;
      handled.add(call);
      const tool = readTool(plan, name, args);
      if (typeof tool === "string") {
        sendOutput(call, { error: tool });
        requestResponse();
      } else if (isLast(tool)) {
        const pending = { call, tool, cancel: () => {} };
        last = pending;
        pending.cancel = conversation.afterPlayed(() => conversation.tool(tool));
      } else {
        conversation.tool(tool);
        sendOutput(call, { ok: true });
        requestResponse();
      }
      return true;
    },
    handleInterruption() {
      if (last === null) return;
      const { call, tool, cancel } = last;
      last = null;
      cancel();
      if (tool.name === "end_call") sendOutput(call, { error: "the caller has more to say" });
      else conversation.tool(tool);
    },
  };
}
