// AI agents as they go in and come out of the API.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import { instruction_characters_max } from "../../calls/state-machine/script-text.ts";
import type { TransferTarget } from "../../calls/state-machine/menu.ts";
import {
  agent_driver_names,
  rule_outcomes,
  type AgentPlan,
} from "../../drivers/ai-agent/driver.ts";
import { closed, id, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { targetOf } from "../menus/menu-schema.ts";
import {
  default_language,
  language,
  leadField,
  spokenText,
  TransferInput,
} from "../files/content-schema.ts";

const said_characters_max = 2_000;
const rules_max = 50;
const fields_max = 20;

const name = shownName("Unique in the account");
const driver = Type.Enum(agent_driver_names, {
  type: "string",
  description:
    "scripted goes by its rules and fields; realtime by its instructions, where this installation has a server for it. scripted unless said",
});
const variables = "{{variables}} become the recipient's values";
const greeting = spokenText(said_characters_max, `Said first; ${variables}`);
const instructions = spokenText(
  instruction_characters_max,
  `realtime: who it is and what it is to do; ${variables}`,
);
const model = spokenText(128, "realtime: the server's own unless said");
const voice = spokenText(128, "realtime: the server's own unless said");

const Rule = closed({
  keys: optional(
    Type.String({
      pattern: "^[0-9*#]{0,12}$",
      description: "Keys that it answers to",
      "x-reason": "must be at most 12 of 0-9, * and #",
    }),
  ),
  keywords: optional(
    Type.Array(spokenText(100, "A word or a phrase, in any case"), {
      maxItems: 20,
      description: "What it answers to, where speech can be understood",
    }),
  ),
  say: spokenText(said_characters_max, `The answer; ${variables}`),
  set: optional(
    closed(
      {
        field: leadField("One of fields"),
        value: spokenText(500, `What is noted for it; ${variables}`),
      },
      { description: "Notes a value for a field" },
    ),
  ),
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
  then: optional(
    Type.Enum(rule_outcomes, {
      type: "string",
      description: "What follows the answer; go_on unless said",
    }),
  ),
});
const rules = Type.Array(Rule, {
  maxItems: rules_max,
  description: "scripted: the first that fits what was pressed or said is followed",
});
const fallback = spokenText(
  said_characters_max,
  "scripted: said when no rule fits; a sentence of ours unless said",
);
const closing = spokenText(
  said_characters_max,
  "scripted: said when every field was asked, and the call ends; a sentence of ours unless said",
);
const fields = Type.Array(
  closed({
    key: leadField("A custom field's key"),
    question: spokenText(said_characters_max, `How it is asked; ${variables}`),
  }),
  { maxItems: fields_max, description: "What it finds out for the caller's lead" },
);
const silence_seconds = Type.Integer({
  minimum: 3,
  maximum: 120,
  description: "It ends when nobody said anything for so long; 10 unless said",
});
const max_seconds = Type.Integer({
  minimum: 10,
  maximum: 3_600,
  description: "The longest conversation; 600 unless said",
});

/** The body of an AI agent's creation; validateAiAgent says what this schema cannot. */
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
  },
  {
    description: "An AI agent to create",
    examples: [
      {
        name: "Reception",
        greeting: "Hello {{name|there}}. Press 1 or say agent to talk to somebody.",
        // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
        rules: [{ keys: "1", keywords: ["agent"], say: "One moment please.", then: "transfer" }],
        transfer_to: { extension: "101" },
      },
    ],
  },
);
export type NewAiAgent = Static<typeof NewAiAgent>;

/** Null clears what may be missing. */
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
  },
  {
    minProperties: 1,
    description: "What to change, for campaigns launched from now on; null clears a field",
    examples: [{ transfer_to: null }],
  },
);
export type AiAgentPatch = Static<typeof AiAgentPatch>;

export const AiAgentAnswer = Type.Object({
  id: id("AI agent id"),
  name: Type.String(),
  driver: Type.Enum(agent_driver_names, { type: "string" }),
  language: Type.String(),
  greeting: Type.String(),
  instructions: nullable(Type.String()),
  model: nullable(Type.String()),
  voice: nullable(Type.String()),
  rules: Type.Unsafe<AgentPlan["rules"]>({
    type: "array",
    items: { type: "object", additionalProperties: true },
    description: "As they were given, defaults filled in",
  }),
  fallback: Type.String(),
  fields: Type.Unsafe<AgentPlan["fields"]>({
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
  created_at: timestamp("UTC"),
  updated_at: timestamp("UTC"),
});
export type AiAgentAnswer = Static<typeof AiAgentAnswer>;

/** An AI agent as it is stored. */
export type StoredAiAgent = {
  readonly plan: AgentPlan;
  readonly transfer_to: TransferTarget | null;
};

/** What is stored of a body that has no violations. */
export function storedAiAgent(body: Omit<NewAiAgent, "name">): StoredAiAgent {
  const transfer_to = body.transfer_to ? targetOf(body.transfer_to) : null;
  const plan: AgentPlan = {
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
      // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
      then: then ?? "go_on",
    })),
    fallback: body.fallback ?? "Sorry, I did not understand that.",
    fields: body.fields ?? [],
    closing: body.closing ?? "Thank you. Goodbye.",
    may_transfer: transfer_to !== null,
    silence_seconds: body.silence_seconds ?? 10,
    max_seconds: body.max_seconds ?? 600,
  };
  return { plan, transfer_to };
}

/** The body that would make a stored one: what a patch changes. */
export function bodyOfAiAgent({ plan, transfer_to }: StoredAiAgent): Omit<NewAiAgent, "name"> {
  const { may_transfer: _, ...rest } = structuredClone(plan);
  const body = { ...rest, instructions: plan.instructions || null, transfer_to };
  return body as unknown as Omit<NewAiAgent, "name">;
}

/** A row as the API shows it. */
export function aiAgentAnswer(row: {
  id: number;
  name: string;
  plan: unknown;
  transfer_to: unknown;
  created_at: Date;
  updated_at: Date;
}): AiAgentAnswer {
  const { may_transfer: _, ...plan } = row.plan as AgentPlan;
  return {
    id: row.id,
    name: row.name,
    ...plan,
    instructions: plan.instructions || null,
    transfer_to: row.transfer_to as TransferTarget | null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
