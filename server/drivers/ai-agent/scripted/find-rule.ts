// Finds the first rule that matches a key or an utterance.
import type { AiAgentRule } from "../driver.ts";

export function findRuleForKey(rules: readonly AiAgentRule[], key: string): AiAgentRule | null {
  return rules.find(({ keys }) => keys.includes(key)) ?? null;
}

/** Finds the opt-out of a key that was pressed alone. */
export function findOptOutForKeys(
  rules: readonly AiAgentRule[],
  pressed: string,
): AiAgentRule | null {
  const rule = pressed.length === 1 ? findRuleForKey(rules, pressed) : null;
  return rule?.then === "opt_out" ? rule : null;
}

/** Matches a keyword as whole words in their order, ignoring case and punctuation. */
export function findRuleForUtterance(
  rules: readonly AiAgentRule[],
  utterance: string,
): AiAgentRule | null {
  const words = normalizeWords(utterance);
  const matches = (keyword: string) => {
    const wanted = normalizeWords(keyword);
    return wanted !== "" && ` ${words} `.includes(` ${wanted} `);
  };
  return rules.find(({ keywords }) => keywords.some(matches)) ?? null;
}

function normalizeWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}
