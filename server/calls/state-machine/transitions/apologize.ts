// The message to a caller when no agent is free, which offers a callback.
import { busyTexts } from "../agents-busy.ts";
import type { Call } from "../call.ts";
import type { Transition } from "../events-and-commands.ts";
import type { Prompt } from "../menu.ts";
import { endAnsweredCall, moveTo, play, positionOf, stopPlaying } from "../play-to-caller.ts";
import { callbacks_max } from "../internal/refuse-callback.ts";
import { promiseCallback } from "./promise-callback.ts";

const callback_minutes = 30;
/** How long a key is waited for after the message. */
const wait_ms = 5_000;

/** Plays the account's message, or the built-in one, in place of cutting the caller off. */
export function apologize(call: Call): Transition {
  const { busy_audio } = call.settings;
  const { offer, message } = textsOf(call);
  const prompt = busy_audio ? { audio: busy_audio } : mayBeCalledBack(call) ? offer : message;
  return { ...play(call, [prompt], { doing: "apologizing" }), events: [] };
}

function textsOf(call: Call): ReturnType<typeof busyTexts> {
  const { content } = call.voice!;
  const { node } = positionOf(call);
  const isAtNode = content.call_type === "obd_ivr" && node !== null;
  return busyTexts(content, isAtNode ? content.menu.nodes[node]! : null);
}

/** Returns whether a callback promised now would be placed. */
export function mayBeCalledBack({ voice }: Call): boolean {
  return voice !== null && voice.recipient_id !== null && voice.callbacks < callbacks_max;
}

/** Waits for a key after the message; ends the call if it could not be played. */
export function afterApology(call: Call, ok: boolean, at: Date): Transition {
  if (!ok) return endApology(call, at);
  const waiting = moveTo(call, { doing: "apologizing" });
  const { visit } = waiting.position!;
  return { call: waiting, events: [], commands: [{ type: "wait", visit, ms: wait_ms }] };
}

/** Ends the call of a caller who asked for no callback; names the cap at which the last agent was not dialed. */
export function endApology(call: Call, at: Date): Transition {
  const blocker = call.legs.findLast(({ role }) => role === "transfer")?.blocker;
  return endAnsweredCall(call, at, blocker?.endsWith("_cap") ? blocker : "transfer_not_answered");
}

/** Returns the built-in prompt, for a caller without an agent, of a callback or an opt-out that has none of its own. */
export function promptWithoutAgent(call: Call, ending: "callback" | "opt_out"): Prompt {
  const { message, confirmation } = textsOf(call);
  if (ending === "callback") return confirmation;
  const { busy_audio } = call.settings;
  return busy_audio ? { audio: busy_audio } : message;
}

/** Promises a callback on 1; other keys have no effect. */
export function handleApologyKey(call: Call, digit: string, at: Date): Transition | null {
  const isAsked = digit === "1" && positionOf(call).doing === "apologizing";
  if (!isAsked || !mayBeCalledBack(call)) return null;
  const next = promiseCallback(call, callback_minutes, textsOf(call).confirmation, at);
  return { ...next, commands: [...stopPlaying(call), ...next.commands] };
}
