import type { Prompt, NodeName } from "./menu.ts";

/**
 * What goes on between a campaign's call and who answered:
 * - detecting: listening whether it is a person;
 * - playing: something that is played to its end, then what follows it;
 * - asking: a question that a key breaks in on; waiting: for (further) keys, after it;
 * - recording: what the caller says;
 * - transferring: an agent is being looked for; bridged: one talks to the caller;
 * - conversing: an AI agent does.
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

/** Where a campaign's call is; stored, so that whoever leads it next goes on from here. */
export type Position = {
  readonly doing: Activity;
  /** Of a menu. */
  readonly node: NodeName | null;
  /** Counts what was begun: a playback or timer of an earlier visit means nothing any more. */
  readonly visit: number;
  /** Wrong or missing answers at this node. */
  readonly tries: number;
  /** Captured so far. */
  readonly digits: string;
  /** While playing and asking. */
  readonly prompts: readonly Prompt[];
  /** Called off, in words of the report, once what is being played is over. */
  readonly then_end: "opted_out" | "menu_ended" | null;
};

/** Nothing has happened yet. */
export const initial_position: Position = {
  doing: "playing",
  node: null,
  visit: 0,
  tries: 0,
  digits: "",
  prompts: [],
  then_end: null,
};
