// Request, response and storage schemas of AI agents.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { instruction_characters_max } from "../../calls/state-machine/script-text.ts";
import type { TransferTarget } from "../../calls/state-machine/menu.ts";
import {
  ai_agent_driver_names,
  rule_outcomes,
  type AiAgentPlan,
} from "../../drivers/ai-agent/driver.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { targetOf } from "../menus/menu-schema.ts";
import {
  boundedText,
  default_language,
  language,
  leadField,
  TransferInput,
} from "../files/content-schema.ts";
import { Rehearsals, type Rehearsal } from "./rehearsal-schema.ts";

const prompt_characters_max = 2_000;
const rules_max = 50;
const fields_max = 20;

const name = shownName("Unique in the account");
const driver = Type.Enum(ai_agent_driver_names, {
  type: "string",
  description:
    "scripted follows its rules and fields; realtime follows its instructions and requires a configured realtime server. Default: scripted",
});
const variables = "{{variables}} are replaced by the recipient's values";
const greeting = boundedText(prompt_characters_max, `The first prompt; ${variables}`);
const instructions = boundedText(
  instruction_characters_max,
  `realtime: its role and its task; ${variables}`,
);
const model = boundedText(128, "realtime; default: the server's own");
const voice = boundedText(128, "realtime; default: the server's own");

const Rule = closed(
  {
    keys: optional(
      Type.String({
        pattern: "^[0-9*#]{0,12}$",
        description: "Keys that trigger the rule",
        "x-reason": "must be at most 12 of 0-9, * and #",
      }),
    ),
    keywords: optional(
      Type.Array(boundedText(100, "A word or phrase, case-insensitive"), {
        maxItems: 20,
        description: "Words that trigger the rule, if speech recognition is available",
      }),
    ),
    say: boundedText(prompt_characters_max, `The answer; ${variables}`),
    set: optional(
      closed(
        {
          field: leadField("One of fields"),
          value: boundedText(500, `The value to store; ${variables}`),
        },
        { description: "Stores a value for a field" },
      ),
    ),
    // oxlint-disable-next-line unicorn/no-thenable -- a property of the plan, not a function
    then: optional(
      Type.Enum(rule_outcomes, {
        type: "string",
        description: "What follows the answer. Default: go_on",
      }),
    ),
  },
  { title: "AiAgentRule" },
);
const rules = Type.Array(Rule, {
  maxItems: rules_max,
  description: "scripted: the first rule that matches the keys or the speech applies",
});
const fallback = boundedText(
  prompt_characters_max,
  "scripted: the answer when no rule matches; a built-in sentence by default",
);
const closing = boundedText(
  prompt_characters_max,
  "scripted: the last prompt, after every field was asked, before the call ends; a built-in sentence by default",
);
const fields = Type.Array(
  closed(
    {
      key: leadField("A custom field's key"),
      question: boundedText(prompt_characters_max, `The question; ${variables}`),
    },
    { title: "AiAgentField" },
  ),
  { maxItems: fields_max, description: "The lead fields that it asks for" },
);
const silence_seconds = Type.Integer({
  minimum: 3,
  maximum: 120,
  description: "Silence that ends the conversation. Default: 10",
});
const max_seconds = Type.Integer({
  minimum: 10,
  maximum: 3_600,
  description: "The longest conversation. Default: 600",
});

/** The body of an AI agent's creation; validateAiAgent validates the rest. */
export const NewAiAgent = closed(
  {
    name,
    driver: optional(driver),
    language: optional(language),
    greeting,
    instructions: optional(instructions),
    model: optional(model),
    voice: optional(voice),
    rules: optional(rules),
    fallback: optional(fallback),
    fields: optional(fields),
    closing: optional(closing),
    transfer_to: optional(TransferInput),
    silence_seconds: optional(silence_seconds),
    max_seconds: optional(max_seconds),
    rehearsals: optional(Rehearsals),
  },
  {
    title: "NewAiAgent",
    description: "An AI agent to create",
    examples: [
      {
        name: "Reception",
        greeting: "Hello {{name|there}}. Press 1 or say agent to talk to somebody.",
        // oxlint-disable-next-line unicorn/no-thenable -- a property of the plan, not a function
        rules: [{ keys: "1", keywords: ["agent"], say: "One moment please.", then: "transfer" }],
        transfer_to: { extension: "101" },
      },
    ],
  },
);
export type NewAiAgent = Static<typeof NewAiAgent>;

/** A change of an AI agent; null clears an optional field. */
export const AiAgentPatch = closed(
  {
    name: Type.Optional(name),
    driver: Type.Optional(driver),
    language: Type.Optional(language),
    greeting: Type.Optional(greeting),
    instructions: optional(instructions),
    model: optional(model),
    voice: optional(voice),
    rules: Type.Optional(rules),
    fallback: Type.Optional(fallback),
    fields: Type.Optional(fields),
    closing: Type.Optional(closing),
    transfer_to: optional(TransferInput),
    silence_seconds: Type.Optional(silence_seconds),
    max_seconds: Type.Optional(max_seconds),
    rehearsals: Type.Optional(Rehearsals),
  },
  {
    title: "AiAgentPatch",
    minProperties: 1,
    description: "The fields to change, for campaigns launched from now on; null clears a field",
    examples: [{ transfer_to: null }],
  },
);
export type AiAgentPatch = Static<typeof AiAgentPatch>;

export const AiAgentResponse = Type.Object(
  {
    id: id("AI agent id"),
    name: Type.String(),
    driver: Type.Enum(ai_agent_driver_names, { type: "string" }),
    language: Type.String(),
    greeting: Type.String(),
    instructions: nullable(Type.String()),
    model: nullable(Type.String()),
    voice: nullable(Type.String()),
    rules: Type.Unsafe<AiAgentPlan["rules"]>({
      type: "array",
      items: { type: "object", additionalProperties: true },
      description: "As sent, with defaults filled in",
    }),
    fallback: Type.String(),
    fields: Type.Unsafe<AiAgentPlan["fields"]>({
      type: "array",
      items: { type: "object", additionalProperties: true },
    }),
    closing: Type.String(),
    transfer_to: Type.Unsafe<TransferTarget | null>({
      type: ["object", "null"],
      additionalProperties: true,
    }),
    silence_seconds: Type.Integer(),
    max_seconds: Type.Integer(),
    rehearsals: Type.Unsafe<Rehearsal[]>({
      type: "array",
      items: { type: "object", additionalProperties: true },
      description: "As sent",
    }),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "AiAgent" },
);
export type AiAgentResponse = Static<typeof AiAgentResponse>;

/** The stored form of an AI agent. */
export type StoredAiAgent = {
  readonly plan: AiAgentPlan;
  readonly transfer_to: TransferTarget | null;
  readonly rehearsals: readonly Rehearsal[];
};

/** Converts a valid body to its stored form, with defaults filled in. */
export function storedAiAgent(body: Omit<NewAiAgent, "name">): StoredAiAgent {
  const transfer_to = body.transfer_to ? targetOf(body.transfer_to) : null;
  const plan: AiAgentPlan = {
    driver: body.driver ?? "scripted",
    language: body.language ?? default_language,
    greeting: body.greeting,
    instructions: body.instructions ?? "",
    model: body.model ?? null,
    voice: body.voice ?? null,
    rules: (body.rules ?? []).map(({ keys, keywords, say, set, then }) => ({
      keys: keys ?? "",
      keywords: keywords ?? [],
      say,
      set: set ?? null,
      // oxlint-disable-next-line unicorn/no-thenable -- a property of the plan, not a function
      then: then ?? "go_on",
    })),
    fallback: body.fallback ?? "Sorry, I did not understand that.",
    fields: body.fields ?? [],
    closing: body.closing ?? "Thank you. Goodbye.",
    may_transfer: transfer_to !== null,
    silence_seconds: body.silence_seconds ?? 10,
    max_seconds: body.max_seconds ?? 600,
  };
  return { plan, transfer_to, rehearsals: body.rehearsals ?? [] };
}

/** Converts a stored AI agent back to a body, to which a patch applies. */
export function bodyOfAiAgent({
  plan,
  transfer_to,
  rehearsals,
}: StoredAiAgent): Omit<NewAiAgent, "name"> {
  const { may_transfer: _, ...rest } = structuredClone(plan);
  const body = { ...rest, instructions: plan.instructions || null, transfer_to, rehearsals };
  return body as unknown as Omit<NewAiAgent, "name">;
}

/** Converts a row to its API representation. */
export function aiAgentResponse(row: {
  id: number;
  name: string;
  plan: unknown;
  transfer_to: unknown;
  rehearsals: unknown;
  created_at: Date;
  updated_at: Date;
}): AiAgentResponse {
  const { may_transfer: _, ...plan } = row.plan as AiAgentPlan;
  return {
    id: row.id,
    name: row.name,
    ...plan,
    instructions: plan.instructions || null,
    transfer_to: row.transfer_to as TransferTarget | null,
    rehearsals: row.rehearsals as Rehearsal[],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
