// Walks a caller through an IVR menu.
import { fillText } from "../script-text.ts";
import { messageName, type Call } from "../call.ts";
import type { Command, Notes, Transition } from "../events-and-commands.ts";
import type { Menu, MenuNode, NodeName, Prompt } from "../menu.ts";
import {
  callerOf,
  endAnsweredCall,
  moveTo,
  play,
  positionOf,
  stopPlaying,
  variablesOf,
  type SilentTransition,
} from "../play-to-caller.ts";
import { apologize, mayBeCalledBack } from "./apologize.ts";
import { promiseCallback } from "./promise-callback.ts";
import { requestTransferAgent } from "./request-transfer-agent.ts";

type Asking = Extract<MenuNode, { type: "menu" | "capture" }>;

/** How long after its limit the end of a recording message is waited for. */
const overdue_seconds = 15;

/** The most prompts, keys and waits of one call, so that a menu does not loop forever with a machine. */
const visits_max = 500;

/** Returns the menu of an obd_ivr call, else null. */
export function menuOf({ voice }: Call): Menu | null {
  return voice?.content.call_type === "obd_ivr" ? voice.content.menu : null;
}

/** Enters a node of the call's menu; the 500th visit ends the call. `unsaid` replaces a missing prompt at its end. */
export function enterNode(
  call: Call,
  node: NodeName,
  at: Date,
  unsaid: Prompt | null = null,
): Transition {
  if (positionOf(call).visit >= visits_max) return endAnsweredCall(call, at, "too_long");
  const entered = walkInto(
    { ...call, position: { ...positionOf(call), node, tries: 0 } },
    node,
    at,
    unsaid,
  );
  return withNotes(entered, { menu: [{ node, key: null }] });
}

function walkInto(call: Call, name: NodeName, at: Date, unsaid: Prompt | null): Transition {
  const node = menuOf(call)!.nodes[name]!;
  switch (node.type) {
    case "play":
    case "record":
      return withoutEvents(play(call, [node.prompt], { doing: "playing" }));
    case "menu":
    case "capture":
      return withoutEvents(play(call, [node.prompt], { doing: "asking" }));
    case "transfer":
      if (!node.prompt) return requestTransferAgent(call, node.to);
      return withoutEvents(play(call, [node.prompt], { doing: "playing" }));
    case "callback":
      // Only campaigns place callbacks: an inbound call is reported as missed.
      if (call.direction === "inbound") return apologize({ ...call, abandoned: true });
      if (!mayBeCalledBack(call)) return apologize(call);
      return promiseCallback(call, node.delay_minutes, node.prompt ?? unsaid, at);
    case "opt_out":
    case "hang_up": {
      const isOptOut = node.type === "opt_out";
      const ending = { ...call, opted_out: call.opted_out || isOptOut };
      const then_end = isOptOut ? "opted_out" : "menu_ended";
      const prompt = node.prompt ?? unsaid;
      if (!prompt) return endAnsweredCall(ending, at, then_end);
      return withoutEvents(play(ending, [prompt], { doing: "playing", then_end }));
    }
    case "set_field":
      return enterNode(setField(call, node), node.next, at, unsaid);
  }
}

/** Returns the call with the node's field of the caller's lead set. */
export function setField(call: Call, { field, value }: MenuNode & { type: "set_field" }): Call {
  const { text } = fillText(value, variablesOf(call));
  return { ...call, lead_fields: { ...call.lead_fields, [field]: text } };
}

/** Continues after a node's prompt was played. */
export function afterPrompt(call: Call, at: Date): Transition | null {
  const { doing, node: name } = positionOf(call);
  const node = menuOf(call)!.nodes[name!]!;
  if (doing === "asking") return waitForKey(call, node as Asking, "");
  switch (node.type) {
    case "play":
      return enterNode(call, node.next, at);
    case "record":
      return recordMessage(call, node);
    case "transfer":
      return requestTransferAgent(call, node.to);
    default:
      return null;
  }
}

/** Handles a key that the menu asks for; `#` ends a message; null for any other key. */
export function handleMenuKey(call: Call, digit: string, at: Date): Transition | null {
  const { doing, node: name, visit } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  if (doing === "recording")
    return digit === "#" ? { call, events: [], commands: [{ type: "stop_message", visit }] } : null;
  if (doing !== "asking" && doing !== "waiting") return null;
  const stop = stopPlaying(call);
  const next =
    node?.type === "menu" ? chooseKey(call, node, digit, at) : enterDigit(call, node, digit, at);
  return { ...next, commands: [...stop, ...next.commands] };
}

function chooseKey(
  call: Call,
  node: Asking & { type: "menu" },
  digit: string,
  at: Date,
): Transition {
  const target = Object.hasOwn(node.keys, digit) ? node.keys[digit] : undefined;
  const next = target === undefined ? askAgain(call, node, at) : enterNode(call, target, at);
  return withNotes(next, { menu: [{ node: positionOf(call).node!, key: digit }] });
}

function enterDigit(call: Call, node: MenuNode | undefined, digit: string, at: Date): Transition {
  if (node?.type !== "capture") throw new Error(`call ${call.id} is not at a capture node`);
  const before = positionOf(call).digits;
  if (digit === "#") return finishCapture(call, node, before, at);
  const digits = digit === "*" ? "" : before + digit;
  return digits.length === node.max_digits
    ? finishCapture(call, node, digits, at)
    : waitForKey(call, node, digits);
}

function finishCapture(
  call: Call,
  node: Asking & { type: "capture" },
  digits: string,
  at: Date,
): Transition {
  const isEnough = digits.length >= node.min_digits;
  const collected = { ...call.collected, [node.variable]: digits };
  const next = isEnough
    ? enterNode({ ...call, collected }, node.next, at)
    : askAgain(call, node, at);
  return withNotes(next, { menu: [{ node: positionOf(call).node!, key: digits || "invalid" }] });
}

/** Handles a time-out: no key was pressed in time, or the end of a message was never reported. */
export function handleMenuTimeout(call: Call, at: Date): Transition | null {
  const { doing, node: name, digits, visit } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  if (doing === "recording" && node?.type === "record") {
    const over = afterMessage(call, messageName(call, visit), false, at);
    return over && { ...over, commands: [{ type: "stop_message", visit }, ...over.commands] };
  }
  if (doing !== "waiting") return null;
  if (node?.type === "capture" && digits.length >= node.min_digits && digits !== "")
    return finishCapture(call, node, digits, at);
  if (node?.type !== "menu" && node?.type !== "capture") return null;
  return withNotes(askAgain(call, node, at), { menu: [{ node: name!, key: "timeout" }] });
}

function askAgain(call: Call, node: Asking, at: Date): Transition {
  const tries = positionOf(call).tries + 1;
  if (tries >= node.tries) return enterNode(call, node.otherwise, at);
  const prompts = node.invalid_prompt ? [node.invalid_prompt, node.prompt] : [node.prompt];
  return withoutEvents(play(call, prompts, { doing: "asking", tries }));
}

function waitForKey(call: Call, node: Asking, digits: string): Transition {
  const waiting = moveTo(call, { doing: "waiting", digits });
  const { visit } = waiting.position!;
  const command: Command = { type: "wait", visit, ms: node.timeout_seconds * 1_000 };
  return { call: waiting, events: [], commands: [command] };
}

function recordMessage(call: Call, node: MenuNode & { type: "record" }): Transition {
  const recording = moveTo(call, { doing: "recording" });
  const { visit, node: name } = recording.position!;
  return {
    call: recording,
    events: [],
    commands: messageCommands(recording, node),
    notes: {
      messages: [{ recording: messageName(call, visit), node: name!, state: "recording" }],
    },
  };
}

/** Returns the commands that record the message of the call's position. */
export function messageCommands(
  call: Call,
  { max_seconds, silence_seconds }: MenuNode & { type: "record" },
): Command[] {
  const { visit } = positionOf(call);
  const limits = { max_seconds, silence_seconds };
  return [
    { type: "record_message", leg: callerOf(call), visit, limits },
    { type: "wait", visit, ms: (max_seconds + overdue_seconds) * 1_000 },
  ];
}

/** Continues after a message was recorded or failed; null if the call is at another position. */
export function afterMessage(
  call: Call,
  recording: string,
  ok: boolean,
  at: Date,
): Transition | null {
  const { doing, node: name, visit } = positionOf(call);
  if (doing !== "recording" || recording !== messageName(call, visit)) return null;
  const node = menuOf(call)?.nodes[name!];
  if (node?.type !== "record") return null;
  const state = ok ? "ready" : "failed";
  return withNotes(enterNode(call, node.next, at), {
    messages: [{ recording, node: name!, state }],
  });
}

/** Returns the message of a caller who hung up, or was connected to an agent, while recording it: it is complete. */
export function messageAtHangUp(call: Call): Notes {
  const { doing, node, visit } = positionOf(call);
  if (doing !== "recording") return {};
  return {
    messages: [{ recording: messageName(call, visit), node: node!, state: "ready" }],
  };
}

/** Returns the transition with these notes before its own. */
export function withNotes(next: Transition, before: Notes): Transition {
  const { menu = [], said = [], messages = [] } = next.notes ?? {};
  return {
    ...next,
    notes: {
      menu: [...(before.menu ?? []), ...menu],
      said: [...(before.said ?? []), ...said],
      messages: [...(before.messages ?? []), ...messages],
    },
  };
}

function withoutEvents(next: SilentTransition): Transition {
  return { ...next, events: [] };
}
