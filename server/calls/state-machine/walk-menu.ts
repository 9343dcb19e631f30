// The way through an IVR menu.
import { fillText } from "./script-text.ts";
import { messageName, type Call } from "./call.ts";
import type { Command, Notes, Transition } from "./events-and-commands.ts";
import type { Menu, MenuNode, NodeName } from "./menu.ts";
import {
  callerOf,
  endAnsweredCall,
  moveTo,
  play,
  positionOf,
  stopPlaying,
  variablesOf,
  type SilentTransition,
} from "./play-to-caller.ts";
import { startTransfer } from "./start-transfer.ts";

type Asking = Extract<MenuNode, { type: "menu" | "capture" }>;

/** A recording that nobody tells the end of is given up so long after its limit. */
const overdue_seconds = 15;

/** Prompts, keys and waits of one call: a menu may send a machine round for ever. */
const visits_max = 500;

/** The menu of an obd_ivr call, else null. */
export function menuOf({ voice }: Call): Menu | null {
  return voice?.content.call_type === "obd_ivr" ? voice.content.menu : null;
}

/** Enters a node of the call's menu; who has been at 500 is let go. */
export function enterNode(call: Call, node: NodeName, at: Date): Transition {
  if (positionOf(call).visit >= visits_max) return endAnsweredCall(call, at, "too_long");
  const entered = walkInto(
    { ...call, position: { ...positionOf(call), node, tries: 0 } },
    node,
    at,
  );
  return withNotes(entered, { menu: [{ node, key: null }] });
}

function walkInto(call: Call, name: NodeName, at: Date): Transition {
  const node = menuOf(call)!.nodes[name]!;
  switch (node.type) {
    case "play":
    case "record":
      return quiet(play(call, [node.prompt], { doing: "playing" }));
    case "menu":
    case "capture":
      return quiet(play(call, [node.prompt], { doing: "asking" }));
    case "transfer":
      if (!node.prompt) return startTransfer(call, node.to);
      return quiet(play(call, [node.prompt], { doing: "playing" }));
    case "opt_out":
    case "hang_up": {
      const isOptOut = node.type === "opt_out";
      const leaving = { ...call, opted_out: call.opted_out || isOptOut };
      const then_end = isOptOut ? "opted_out" : "menu_ended";
      if (!node.prompt) return endAnsweredCall(leaving, at, then_end);
      return quiet(play(leaving, [node.prompt], { doing: "playing", then_end }));
    }
    case "set_field": {
      const { text } = fillText(node.value, variablesOf(call));
      const noted = { ...call, lead_fields: { ...call.lead_fields, [node.field]: text } };
      return enterNode(noted, node.next, at);
    }
  }
}

/** What a node's prompt led to, now that it was played. */
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
      return startTransfer(call, node.to);
    default:
      return null;
  }
}

/** A key, where the menu asks for one; elsewhere it means nothing, but that it ends a message. */
export function handleMenuKey(call: Call, digit: string, at: Date): Transition | null {
  const { doing, node: name, visit } = positionOf(call);
  const node = name === null ? undefined : menuOf(call)?.nodes[name];
  if (doing === "recording")
    return digit === "#" ? { call, events: [], commands: [{ type: "stop_message", visit }] } : null;
  if (doing !== "asking" && doing !== "waiting") return null;
  const silenced = stopPlaying(call);
  const next =
    node?.type === "menu" ? chooseKey(call, node, digit, at) : enterDigit(call, node, digit, at);
  return { ...next, commands: [...silenced, ...next.commands] };
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
  if (node?.type !== "capture") throw new Error(`call ${call.id} asks for no digits`);
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

/** Nothing was pressed for so long as the node waits, or a message was never told to be over. */
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
  return quiet(play(call, prompts, { doing: "asking", tries }));
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
  const { max_seconds, silence_seconds } = node;
  const limits = { max_seconds, silence_seconds };
  return {
    call: recording,
    events: [],
    commands: [
      { type: "record_message", leg: callerOf(call), visit, limits },
      { type: "wait", visit, ms: (max_seconds + overdue_seconds) * 1_000 },
    ],
    notes: {
      messages: [{ recording: messageName(call, visit), node: name!, state: "recording" }],
    },
  };
}

/** A message is in, or is not to be had; null when the call is elsewhere. */
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

/** Whoever left a message and hung up has left it. */
export function messageAtHangUp(call: Call): Notes {
  const { doing, node, visit } = positionOf(call);
  if (doing !== "recording") return {};
  return {
    messages: [{ recording: messageName(call, visit), node: node!, state: "ready" }],
  };
}

/** The step with these notes before its own. */
export function withNotes(step: Transition, before: Notes): Transition {
  const { menu = [], said = [], messages = [] } = step.notes ?? {};
  return {
    ...step,
    notes: {
      menu: [...(before.menu ?? []), ...menu],
      said: [...(before.said ?? []), ...said],
      messages: [...(before.messages ?? []), ...messages],
    },
  };
}

function quiet(step: SilentTransition): Transition {
  return { ...step, events: [] };
}
