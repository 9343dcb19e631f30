// An AI agent that is being edited: the body of the request.
import type { Sent } from "../../../api/answer.ts";
import type { AiAgent } from "../../../api/voice.ts";
import { finished } from "./rehearsals/rehearsal-steps.ts";

export type AgentDraft = Sent<"updateAiAgent"> & {
  readonly name: string;
  readonly greeting: string;
};
export type AgentRule = NonNullable<AgentDraft["rules"]>[number];
export type AgentField = NonNullable<AgentDraft["fields"]>[number];

/** What an empty field means. */
export const default_limits = { silence_seconds: 10, max_seconds: 600 } as const;

export const new_agent: AgentDraft = {
  name: "",
  driver: "scripted",
  language: "en",
  greeting: "Hello {{name|there}}! Press 1 for our opening hours, or 9 to stop these calls.",
  rules: [
    { keys: "1", keywords: ["hours", "open"], say: "We are open from nine to five." },
    // oxlint-disable-next-line unicorn/no-thenable -- A field of the API.
    { keys: "9", keywords: ["stop"], say: "We will not call again.", then: "opt_out" },
  ],
  fields: [],
};

/** A saved agent is a body too: its defaults are filled in. */
export function draftOfAgent(agent: AiAgent): AgentDraft {
  const { id: _id, created_at: _created, updated_at: _updated, ...draft } = agent;
  return draft as unknown as AgentDraft;
}

/** Returns the body that saves it: with every limit, and without words and steps that are being typed. */
export function bodyOfAgent({ rules, rehearsals, ...draft }: AgentDraft): AgentDraft {
  const whole = rules?.map((rule) => ({
    ...rule,
    keywords: (rule.keywords ?? []).map((word) => word.trim()).filter((word) => word !== ""),
  }));
  const { silence_seconds, max_seconds } = default_limits;
  return {
    ...draft,
    silence_seconds: draft.silence_seconds ?? silence_seconds,
    max_seconds: draft.max_seconds ?? max_seconds,
    ...(whole ? { rules: whole } : {}),
    ...(rehearsals ? { rehearsals: rehearsals.map(finished) } : {}),
  };
}
