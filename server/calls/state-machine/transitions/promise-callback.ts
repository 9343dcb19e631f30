import { customerDueFrom } from "../../customer-hours.ts";
import type { Call } from "../call.ts";
import type { Transition } from "../events-and-commands.ts";
import type { Prompt } from "../menu.ts";
import { endAnsweredCall, play } from "../play-to-caller.ts";

/**
 * Notes that the caller is to be called back in so many minutes, or when the customer may be called then, confirms
 * it and ends the call.
 */
export function promiseCallback(
  call: Call,
  minutes: number,
  prompt: Prompt | null,
  at: Date,
): Transition {
  const earliest = new Date(at.getTime() + minutes * 60_000);
  const callback_at = customerDueFrom(call, earliest) ?? earliest;
  const promised = { ...call, callback_at };
  if (!prompt) return endAnsweredCall(promised, at, "callback_requested");
  const then_end = "callback_requested" as const;
  return { ...play(promised, [prompt], { doing: "playing", then_end }), events: [] };
}
