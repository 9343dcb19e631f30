// Who talks to a person on a call in a human's place. Every driver passes the same contract suite. A driver
// knows no feature, no SQL and no switch: it hears and speaks through a CallMedia, and asks for what it may not do.
import type { CallMedia } from "../call-media.ts";

export const agent_driver_names = ["scripted", "realtime"] as const;
export type AgentDriverName = (typeof agent_driver_names)[number];

/** What an answer of the scripted agent may lead to. */
export const rule_outcomes = ["go_on", "transfer", "end", "opt_out"] as const;

/** Of the scripted agent: the first rule that fits what was pressed or said is followed. */
export type AgentRule = {
  /** Keys that it answers to: any of 0-9, * and #. */
  readonly keys: string;
  /** Words or phrases that it answers to, in any case, where speech can be understood. */
  readonly keywords: readonly string[];
  readonly say: string;
  /** Notes `value` for this field of `fields`. */
  readonly set?: { readonly field: string; readonly value: string } | null;
  readonly then: (typeof rule_outcomes)[number];
};

/** Something that the agent finds out. The scripted one asks, and takes keys up to # or what is said. */
export type AgentField = { readonly key: string; readonly question: string };

/** An AI agent as it was described when its campaign was launched. Texts may hold {{variables}}, filled in by then. */
export type AgentPlan = {
  readonly driver: AgentDriverName;
  readonly language: string;
  readonly greeting: string;
  /** Of the realtime agent: who it is and what it is to do. */
  readonly instructions: string;
  /** Of the realtime agent; null: the server's own. */
  readonly model: string | null;
  readonly voice: string | null;
  readonly rules: readonly AgentRule[];
  /** What the scripted agent says when no rule fits. */
  readonly fallback: string;
  readonly fields: readonly AgentField[];
  /** What the scripted agent says once every field was asked, before it ends the call; "": it goes on. */
  readonly closing: string;
  /** Whether there is somebody to transfer to. */
  readonly may_transfer: boolean;
  /** Nobody said anything for so long: it ends. */
  readonly silence_seconds: number;
  readonly max_seconds: number;
};

/** What an agent asks of the call. */
export type AgentTool =
  | { readonly name: "end_call" }
  | { readonly name: "transfer_to_agent" }
  | { readonly name: "set_lead_field"; readonly field: string; readonly value: string }
  /** ISO 8601 with an offset. */
  | { readonly name: "schedule_callback"; readonly at: string }
  | { readonly name: "opt_out" };

/** Why a conversation is over by itself: `end_call` and `transfer_to_agent` end nothing, whoever hears them does. */
export type AgentEnd = "silence" | "too_long" | "failed";

export type AgentEvent =
  | { readonly type: "said"; readonly who: "agent" | "caller"; readonly text: string }
  /** Told when what the agent said before it has been played. */
  | { readonly type: "tool"; readonly tool: AgentTool }
  /** Nothing follows. */
  | { readonly type: "over"; readonly reason: AgentEnd };

/** One conversation. */
export type AgentSession = {
  /** The caller pressed a key. */
  digit(digit: string): void;
  /** Ends it, silent at once; the media stays. Nothing is told any more. */
  close(): Promise<void>;
};

export type AgentDriver = {
  /** Greets and goes on from there. Never throws: what fails is told as `over`. */
  open(plan: AgentPlan, media: CallMedia, hear: (event: AgentEvent) => void): AgentSession;
};

/** The drivers this process has. */
export type AgentDrivers = Readonly<Partial<Record<AgentDriverName, AgentDriver>>>;
