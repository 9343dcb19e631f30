// Handles the model's function calls, each once.
import type { AiAgentPlan, AiAgentTool, CallbackTerms } from "../driver.ts";
import { isLast, type Conversation } from "../open-conversation.ts";
import { readTool } from "./ai-agent-tools.ts";
import type { ServerEvent } from "./read-server-event.ts";

/** A model that calls more functions is considered to loop. */
const calls_max = 200;

/** The model's next step after an opt-out. */
const confirm_opt_out =
  "Confirm in one sentence that the caller will not be called again, and say goodbye. The call then ends.";

export type ToolCalls = {
  /** Handles a call; returns false after too many. */
  readonly handle: (call: Extract<ServerEvent, { type: "function_call" }>) => boolean;
  /**
   * Handles the end of a response: ends the call of a caller who has opted out once the confirmation is played,
   * and requests the confirmation if the response had no audio.
   */
  readonly handleResponseEnd: (hasAudio: boolean) => void;
  /**
   * Handles a caller who speaks or presses a key during the final audio: a transfer, and the end of the call after
   * an opt-out, take effect at once; any other end is canceled, because the caller has more to say.
   */
  readonly handleInterruption: () => void;
};

type Last = {
  /** The ID of the model's call; null: the call ends after an opt-out. */
  readonly call: string | null;
  readonly tool: AiAgentTool;
  cancel: () => void;
};

export function openToolCalls(parts: {
  readonly plan: AiAgentPlan;
  readonly callbacks: CallbackTerms;
  readonly conversation: Conversation;
  readonly send: (event: object) => void;
  /** Requests the model's next response. */
  readonly requestResponse: () => void;
}): ToolCalls {
  const { plan, callbacks, conversation, send, requestResponse } = parts;
  const handled = new Set<string>();
  /** The call that ends the conversation once the audio before it is played. */
  let last: Last | null = null;
  let hasOptedOut = false;
  let isConfirmationRequested = false;
  const sendOutput = (call: string, output: object) =>
    send({
      type: "conversation.item.create",
      item: { type: "function_call_output", call_id: call, output: JSON.stringify(output) },
    });
  const endWith = (call: string | null, tool: AiAgentTool) => {
    const pending: Last = { call, tool, cancel: () => {} };
    last = pending;
    pending.cancel = conversation.afterPlayed(() => conversation.tool(tool));
  };
  return {
    handle({ call, name, args }) {
      if (handled.has(call) || (last !== null && name !== "opt_out")) return true;
      if (handled.size >= calls_max) return false;
      handled.add(call);
      const tool = readTool(plan, callbacks, name, args);
      if (typeof tool === "string") {
        sendOutput(call, { error: tool });
        requestResponse();
      } else if (isLast(tool)) endWith(call, tool);
      else {
        conversation.tool(tool);
        const isOptOut = tool.name === "opt_out";
        hasOptedOut ||= isOptOut;
        sendOutput(call, isOptOut ? { ok: true, next: confirm_opt_out } : { ok: true });
        if (!isOptOut) requestResponse();
      }
      return true;
    },
    handleResponseEnd(hasAudio) {
      if (!hasOptedOut || last !== null) return;
      if (hasAudio || isConfirmationRequested) return endWith(null, { name: "end_call" });
      isConfirmationRequested = true;
      requestResponse();
    },
    handleInterruption() {
      if (last === null) return;
      const { call, tool, cancel } = last;
      last = null;
      cancel();
      if (call !== null && tool.name === "end_call")
        sendOutput(call, { error: "the caller has more to say" });
      else conversation.tool(tool);
    },
  };
}
