// Rehearsals: conversations that a scripted AI agent holds with a caller who does always the same.
import Type, { type Static } from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { closed, mapOf, optional } from "../../lib/schemas.ts";
import { boundedText } from "../files/content-schema.ts";

const rehearsals_max = 20;
const steps_max = 30;

/**
 * What becomes of the call: `listening`: it goes on; `ended` and `transferred`: by the AI agent; the others as in
 * AiAgentEndReason.
 */
const outcomes = ["listening", "ended", "transferred", "silence", "too_long", "failed"] as const;

const Step = closed(
  {
    press: optional(
      Type.String({
        pattern: "^[0-9*#]{1,64}$",
        description: "Keys, one right after the other",
        "x-reason": "must be 1-64 of 0-9, * and #",
      }),
    ),
    say: optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: "Words, understood without an error",
      }),
    ),
    wait_seconds: optional(Type.Integer({ minimum: 1, maximum: 120, description: "Silence" })),
  },
  { title: "RehearsalStep", description: "One of its properties" },
);

const outcome = Type.Enum(outcomes, {
  type: "string",
  description: "What becomes of the call; listening: it goes on",
});
const says = Type.Array(Type.String({ maxLength: 5_000 }), {
  maxItems: 200,
  description: "What the AI agent says, in order",
});
const fields = mapOf(Type.String(), {
  maxProperties: 50,
  description: "The answers that are kept",
});
const opted_out = Type.Boolean({ description: "Whether the number is suppressed for calls" });
const facts = { outcome, says, fields, opted_out };

export const expectations = ["outcome", "says", "fields", "opted_out"] as const;

/** Facts that must not change; those that are left out may. */
const Expected = closed(
  {
    outcome: optional(outcome),
    says: optional(says),
    fields: optional(fields),
    opted_out: optional(opted_out),
  },
  { title: "RehearsalExpectation", description: "What must be so; what is left out may change" },
);
export type Expected = Static<typeof Expected>;

const Rehearsal = closed(
  {
    name: boundedText(100, "What it shows"),
    variables: optional(
      mapOf(Type.String(), {
        maxProperties: 50,
        description: "The recipient's values of {{variables}}",
      }),
    ),
    steps: Type.Array(Step, {
      maxItems: steps_max,
      description: "What the caller does, each once the AI agent has finished speaking",
    }),
    expect: optional(Expected),
  },
  { title: "Rehearsal" },
);
export type Rehearsal = Static<typeof Rehearsal>;

export const Rehearsals = Type.Array(Rehearsal, {
  maxItems: rehearsals_max,
  description:
    "scripted: conversations that it has to hold as expected, which previewAiAgentRehearsals checks",
});

const Actual = Type.Object(facts, { title: "RehearsalFacts" });
export type Actual = Static<typeof Actual>;

const RehearsalResult = Type.Object(
  {
    name: Type.String(),
    passed: Type.Unsafe<boolean | null>({
      type: ["boolean", "null"],
      description: "null: nothing is expected",
    }),
    differences: Type.Array(Type.Enum(expectations, { type: "string" }), {
      description: "The facts that are not as expected",
    }),
    actual: Actual,
    transcript: Type.Array(
      Type.Object({
        who: Type.Enum(["agent", "caller"] as const, { type: "string" }),
        text: Type.String(),
      }),
    ),
  },
  { title: "RehearsalResult" },
);
export type RehearsalResult = Static<typeof RehearsalResult>;

export const RehearsalResults = Type.Object(
  {
    passed: Type.Boolean({ description: "Whether none failed" }),
    data: Type.Array(RehearsalResult),
  },
  { title: "RehearsalResults" },
);
export type RehearsalResults = Static<typeof RehearsalResults>;

/** Validates rehearsals beyond the schema; they may have any shape. */
export function validateRehearsals(rehearsals: unknown): FieldError[] {
  return itemsOf(rehearsals, rehearsals_max).flatMap((rehearsal, i) =>
    itemsOf((rehearsal as Partial<Rehearsal> | null)?.steps, steps_max).flatMap((step, j) => {
      const given = Object.values(step ?? {}).filter((value) => value !== null);
      if (given.length === 1) return [];
      const reason = "must have exactly one of press, say and wait_seconds";
      return [{ field: `rehearsals.${i}.steps.${j}`, reason }];
    }),
  );
}

function itemsOf(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}
