// Which rule answers to what the caller pressed or said: the first that fits.
import type { AgentRule } from "../driver.ts";

export function findRuleForKey(rules: readonly AgentRule[], key: string): AgentRule | null {
  return rules.find(({ keys }) => keys.includes(key)) ?? null;
}

/** A keyword fits as whole words, in their order, in any case and whatever stands between them. */
export function findRuleForWords(rules: readonly AgentRule[], said: string): AgentRule | null {
  const words = wordsOf(said);
  const fits = (keyword: string) => {
    const wanted = wordsOf(keyword);
    return wanted !== "" && ` ${words} `.includes(` ${wanted} `);
  };
  return rules.find(({ keywords }) => keywords.some(fits)) ?? null;
}

function wordsOf(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}
