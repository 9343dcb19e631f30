import type { Prompt, NodeName } from "../menu.ts";

/**
 * What a campaign's call is doing:
 * - detecting: listening for an answering machine;
 * - playing: a prompt that is played to its end;
 * - asking: a prompt that a key interrupts; waiting: for (further) keys after it;
 * - recording: a message of the caller;
 * - transferring: looking for an agent; bridged: an agent talks to the caller;
 * - conversing: an AI agent talks to the caller.
 */
export type Activity =
  | "detecting"
  | "playing"
  | "asking"
  | "waiting"
  | "recording"
  | "transferring"
  | "bridged"
  | "conversing";

/** Where a campaign's call is; stored, so that the next node leader goes on from here. */
export type Position = {
  readonly doing: Activity;
  /** The menu's current node. */
  readonly node: NodeName | null;
  /** Counts playbacks and timers: those of an earlier visit no longer count. */
  readonly visit: number;
  /** Invalid or missing answers at this node. */
  readonly tries: number;
  /** Digits captured so far. */
  readonly digits: string;
  /** While playing and asking. */
  readonly prompts: readonly Prompt[];
  /** Why the call ends once the current prompt is played. */
  readonly then_end: "opted_out" | "menu_ended" | null;
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
};
