import assert from "node:assert/strict";
import { test } from "node:test";
import type { AiAgentPlan } from "../../drivers/ai-agent/driver.ts";
import { fillAiAgentPlan } from "./fill-ai-agent-plan.ts";

test("fills the recipient's values into an AI agent's texts, and keeps long instructions whole", () => {
  const plan: AiAgentPlan = {
    driver: "realtime",
    language: "en",
    greeting: "Hello {{name}}",
    instructions: `${"x".repeat(19_000)} {{name}}`,
    model: null,
    voice: null,
    rules: [
      {
        keys: "1",
        keywords: [],
        say: "{{pin}}",
        set: { field: "a", value: "{{name}}" },
        // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
        then: "end",
      },
    ],
    fallback: "What, {{name}}?",
    closing: "Bye, {{name}}",
    fields: [{ key: "a", question: "{{name}}, a?" }],
    may_transfer: false,
    silence_seconds: 10,
    max_seconds: 600,
  };
  const filled = fillAiAgentPlan(plan, { name: "Asha", pin: "42" });
  assert.equal(filled.instructions, `${"x".repeat(19_000)} Asha`);
  assert.deepEqual(
    [filled.greeting, filled.fallback, filled.closing, filled.rules[0]!.say],
    ["Hello Asha", "What, Asha?", "Bye, Asha", "42"],
  );
  assert.equal(filled.rules[0]!.set!.value, "Asha");
  assert.equal(filled.fields[0]!.question, "Asha, a?");
});
