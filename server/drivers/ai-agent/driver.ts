// The interface of AI agents, which talk to a caller in place of a person. Every driver passes the same contract
// suite. A driver knows no feature, SQL or switch: audio goes through a CallMedia, and a driver requests actions as tools.
import type { CallMedia } from "../call-media.ts";
import type { Synthesizer, Utterance } from "../speech/driver.ts";

export const ai_agent_driver_names = ["scripted", "realtime"] as const;
export type AiAgentDriverName = (typeof ai_agent_driver_names)[number];

/** What happens after the scripted AI agent answers by a rule. */
export const rule_outcomes = ["go_on", "transfer", "end", "opt_out"] as const;

/** A rule of the scripted AI agent, which follows the first rule that matches a key or an utterance. */
export type AiAgentRule = {
  /** The keys that match: any of 0-9, * and #. */
  readonly keys: string;
  /** Words or phrases that match, in any case; ignored without speech recognition. */
  readonly keywords: readonly string[];
  readonly say: string;
  /** Sets this field of `fields` to `value`. */
  readonly set?: { readonly field: string; readonly value: string } | null;
  readonly then: (typeof rule_outcomes)[number];
};

/** A value that the AI agent asks for. The scripted AI agent accepts keys up to # or an utterance. */
export type AiAgentField = { readonly key: string; readonly question: string };

/** An AI agent as configured when its campaign was launched, with the {{variables}} of its texts filled in. */
export type AiAgentPlan = {
  readonly driver: AiAgentDriverName;
  readonly language: string;
  readonly greeting: string;
  /** The system prompt of the realtime AI agent. */
  readonly instructions: string;
  /** For the realtime AI agent; null: the configured default. */
  readonly model: string | null;
  readonly voice: string | null;
  readonly rules: readonly AiAgentRule[];
  /** What the scripted AI agent says when no rule matches. */
  readonly fallback: string;
  readonly fields: readonly AiAgentField[];
  /** What the scripted AI agent says before it ends the call once every field is asked; "": the call continues. */
  readonly closing: string;
  /** Whether calls can be transferred to a person. */
  readonly may_transfer: boolean;
  /** The conversation ends after this much silence. */
  readonly silence_seconds: number;
  readonly max_seconds: number;
};

/** Returns the texts that the scripted AI agent says, without blank ones. */
export function textsOf(plan: AiAgentPlan): Utterance[] {
  const { greeting, fields, rules, fallback, closing, language } = plan;
  const questions = fields.map(({ question }) => question);
  const answers = rules.map(({ say }) => say);
  return [greeting, ...questions, ...answers, fallback, closing]
    .filter((text) => text.trim() !== "")
    .map((text) => ({ text, language }));
}

/** An action that the AI agent requests of the call. */
export type AiAgentTool =
  | { readonly name: "end_call" }
  | { readonly name: "transfer_to_agent" }
  | { readonly name: "set_lead_field"; readonly field: string; readonly value: string }
  /** ISO 8601 with an offset. */
  | { readonly name: "schedule_callback"; readonly at: string }
  | { readonly name: "opt_out" };

/** Why a conversation ended by itself. `end_call` and `transfer_to_agent` only request; their receiver ends or transfers the call. */
export type AiAgentEndReason = "silence" | "too_long" | "failed";

export type AiAgentEvent =
  /** Emitted once, when the AI agent's first audio is queued for playback. */
  | { readonly type: "audible" }
  | { readonly type: "said"; readonly who: "agent" | "caller"; readonly text: string }
  /**
   * Emitted as soon as the tool is called, so that a caller who hangs up cannot undo it; `end_call` and
   * `transfer_to_agent`, which are the last events, once the preceding audio has been played.
   */
  | { readonly type: "tool"; readonly tool: AiAgentTool }
  /** The last event. */
  | { readonly type: "over"; readonly reason: AiAgentEndReason };

/**
 * One conversation. When its media ends, only `opt_out` may still be emitted, for up to 8 s: a caller may hang up
 * right after asking for it.
 */
export type AiAgentSession = {
  /** The caller pressed a key. */
  digit(digit: string): void;
  /** The caller said this, and is understood without speech recognition: a caller who types. */
  utterance(text: string): void;
  /** Resolves when no further event is emitted. */
  readonly ended: Promise<void>;
  /** Ends the conversation, stops playback at once and emits no further event; the media stays open. */
  close(): Promise<void>;
};

/** What the AI agent needs to know to promise the caller a callback. */
export type CallbackTerms = {
  /** The current date and time, the time zone and the calling window, as text for the model. */
  readonly briefing: string;
  /** Returns why a call at this time cannot be promised, as text for the model; null: it can. */
  readonly refuse: (at: Date) => string | null;
};

/** Why a conversation cannot be set up. */
export type SetUpFailure = {
  /** For people. */
  readonly reason: string;
  /** The text that could not be synthesized, if that is why. */
  readonly text: Utterance | null;
};

/** A conversation that is set up before the caller is dialed. */
export type PreparedConversation = {
  /** Sets up everything that can fail; resolves to null once the AI agent can talk, or to why it cannot. */
  ready(): Promise<SetUpFailure | null>;
  /** Resolves when a conversation that was ready can no longer start. */
  readonly lost: Promise<void>;
  /**
   * Starts the conversation with the greeting, once it is ready. Call it once. Never throws: a failure is
   * emitted as `over`.
   */
  start(media: CallMedia, onEvent: (event: AiAgentEvent) => void): AiAgentSession;
  /** Releases a conversation that was not started. */
  close(): Promise<void>;
};

/**
 * Whether a model can be used. `refused` is definite: calls with it would fail. `code` is the server's, such as
 * model_not_found.
 */
export type ModelCheck =
  | { readonly outcome: "accepted" }
  | {
      readonly outcome: "refused";
      readonly part: "model" | "transcription model" | "voice" | "key" | "settings";
      readonly code: string;
    }
  | { readonly outcome: "unavailable"; readonly code: string };

export type AiAgentDriver = {
  /** Checks the model and voice of a plan with its server; absent if the driver has no model. */
  checkModel?(plan: Pick<AiAgentPlan, "model" | "voice" | "language">): Promise<ModelCheck>;
  /** `synthesizer`: for a driver without audio of its own. */
  prepare(
    plan: AiAgentPlan,
    callbacks: CallbackTerms,
    synthesizer: Synthesizer,
  ): PreparedConversation;
  /**
   * Holds a conversation without audio or time, in which the caller does one step after the other, each once the AI
   * agent has finished speaking; absent if what it says differs from call to call.
   */
  rehearse?(plan: AiAgentPlan, steps: readonly CallerStep[]): Promise<readonly AiAgentEvent[]>;
};

/** What the caller of a rehearsal does: presses keys one right after the other, says words, or is silent. */
export type CallerStep = {
  readonly press?: string | null;
  readonly say?: string | null;
  readonly wait_seconds?: number | null;
};

/** The AI agent drivers of this process. */
export type AiAgentDrivers = Readonly<Partial<Record<AiAgentDriverName, AiAgentDriver>>>;
