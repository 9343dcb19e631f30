import type { AiAgentPlan } from "../../drivers/ai-agent/driver.ts";
import { fillText, instruction_characters_max } from "./script-text.ts";

/** Returns the AI agent's plan with the recipient's variables filled into its texts. */
export function fillAiAgentPlan(
  plan: AiAgentPlan,
  variables: Readonly<Record<string, string>>,
): AiAgentPlan {
  const fill = (text: string) => fillText(text, variables).text;
  return {
    ...plan,
    greeting: fill(plan.greeting),
    instructions: fillText(plan.instructions, variables, instruction_characters_max).text,
    fallback: fill(plan.fallback),
    closing: fill(plan.closing),
    rules: plan.rules.map((rule) => ({
      ...rule,
      say: fill(rule.say),
      set: rule.set ? { ...rule.set, value: fill(rule.set.value) } : null,
    })),
    fields: plan.fields.map((field) => ({ ...field, question: fill(field.question) })),
  };
}
