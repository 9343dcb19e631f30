import type { Prompt, NodeName } from "../menu.ts";

/**
 * The activity of a voice call:
 * - detecting: listening for an answering machine;
 * - playing: a prompt that is played to its end;
 * - listening: after the last prompt, for a late opt-out key;
 * - asking: a prompt that a key interrupts; waiting: for (further) keys after it;
 * - recording: a message of the caller;
 * - transferring: looking for an agent; bridged: an agent talks to the caller;
 * - apologizing: no agent is free; the caller may ask for a callback;
 * - greeting: waiting until an answering machine has finished its greeting;
 * - conversing: an AI agent talks to the caller.
 */
export type Activity =
  | "detecting"
  | "playing"
  | "listening"
  | "asking"
  | "waiting"
  | "recording"
  | "transferring"
  | "bridged"
  | "apologizing"
  | "greeting"
  | "conversing";

/** The position of a voice call; stored, so that the next node leader continues there. */
export type Position = {
  readonly doing: Activity;
  /** The menu's current node. */
  readonly node: NodeName | null;
  /** Counts playbacks and timers; those of an earlier visit are ignored. */
  readonly visit: number;
  /** Invalid or missing answers at this node. */
  readonly tries: number;
  /** Digits captured so far. */
  readonly digits: string;
  /** While playing and asking. */
  readonly prompts: readonly Prompt[];
  /** The reason to end the call once the current prompt is played. */
  readonly then_end: "opted_out" | "menu_ended" | "callback_requested" | null;
  /** While transferring, how many legs the call had before; missing on calls of earlier versions. */
  readonly legs_before?: number;
  /** While transferring, whether the content is over; missing on calls of earlier versions. */
  readonly is_content_over?: boolean;
  /** Whether audio of the AI agent was played; missing on calls of earlier versions. */
  readonly is_audible?: boolean;
  /** While conversing, since when, in milliseconds since 1970; missing on calls of earlier versions. */
  readonly conversing_since_ms?: number;
};

/** The position before the answer. */
export const initial_position: Position = {
  doing: "playing",
  node: null,
  visit: 0,
  tries: 0,
  digits: "",
  prompts: [],
  then_end: null,
  is_audible: false,
};
