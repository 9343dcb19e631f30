// Prompts played to the caller of a voice call, and its position.
import { fillText } from "./script-text.ts";
import type { Call } from "./call.ts";
import { endCall, type Outcome } from "./transitions/end-call.ts";
import type { Command, Transition } from "./events-and-commands.ts";
import { liveLegs } from "./legs.ts";
import type { Prompt } from "./menu.ts";
import { initial_position, type Position } from "./transitions/voice-position.ts";

/** A transition without events. */
export type SilentTransition = Omit<Transition, "events">;

/** Returns the call's position. */
export function positionOf({ position }: Call): Position {
  return position ?? initial_position;
}

/** Moves the call to its next visit; playbacks and timers of earlier visits are ignored. */
export function moveTo(call: Call, to: Partial<Position> & Pick<Position, "doing">): Call {
  const { node, tries, visit } = positionOf(call);
  const next: Position = { ...initial_position, node, tries, ...to, visit: visit + 1 };
  return { ...call, position: next };
}

/** Plays the prompts in order. */
export function play(
  call: Call,
  prompts: readonly Prompt[],
  to: Partial<Position> & Pick<Position, "doing">,
): SilentTransition {
  const filled = prompts.map((prompt) => fillPrompt(call, prompt));
  const playing = moveTo(call, { ...to, prompts: filled });
  const { visit } = playing.position!;
  const command: Command = { type: "play", leg: callerOf(call), visit, prompts: filled };
  return { call: playing, commands: [command] };
}

/** Returns the command that stops the current playback, if there is one. */
export function stopPlaying(call: Call): Command[] {
  const { doing } = positionOf(call);
  const isPlaying = doing === "playing" || doing === "asking" || doing === "apologizing";
  return isPlaying ? [{ type: "stop_playing", leg: callerOf(call) }] : [];
}

/** Returns the customer's leg, which is live during any event of the conversation. */
export function callerOf(call: Call): number {
  const caller = liveLegs(call).find(({ role }) => role === "customer");
  if (!caller) throw new Error(`call ${call.id} has no live leg of its recipient`);
  return caller.id;
}

/** Returns the recipient's variables, overridden by the caller's entries. */
export function variablesOf({
  voice,
  collected,
}: Pick<Call, "voice" | "collected">): Record<string, string> {
  return { ...voice!.variables, ...collected };
}

function fillPrompt(call: Call, prompt: Prompt): Prompt {
  if (!("say" in prompt)) return prompt;
  return { ...prompt, say: fillText(prompt.say, variablesOf(call)).text };
}

/** Ends for which the caller has asked. */
const asked_for: ReadonlySet<string> = new Set(["opted_out", "callback_requested"]);

/**
 * Ends an answered call on behalf of the system. A caller whose transfer rings waits with ringback instead: the end of
 * the content does not cut the transfer off.
 */
export function endAnsweredCall(
  call: Call,
  at: Date,
  ended_reason: string,
  more: Partial<Outcome> = {},
): Transition {
  const isTransferred = liveLegs(call).some(({ role }) => role === "transfer");
  if (isTransferred && !asked_for.has(ended_reason) && call.answered_by !== "machine")
    return awaitTransfer(call);
  return endCall(call, at, {
    status: "completed",
    disposition: "answered",
    ended_reason,
    ended_by: "system",
    ...more,
  });
}

/** Until an agent answers, the caller counts as abandoned. */
function awaitTransfer(call: Call): Transition {
  const over = { doing: "transferring", is_content_over: true } as const;
  const waiting = { ...moveTo(call, over), abandoned: true };
  return { call: waiting, events: [], commands: [{ type: "ringback", leg: callerOf(call) }] };
}
