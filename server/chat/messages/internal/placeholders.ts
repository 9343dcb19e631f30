// `{{placeholders}}` in the texts of templates and flows.
import type { TextParts } from "../message-plan.ts";

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/;

/** Cuts a text at its placeholders: even entries are fixed, odd ones are the keys. */
export function cutText(text: string): TextParts {
  // One group in the pattern, so that what it matches comes between the rest.
  return text.split(placeholder);
}

/** The keys of a text's placeholders, each once, in the order in which they come. */
export function keysOf(text: string): string[] {
  return [...new Set(cutText(text).filter((_, i) => i % 2 === 1))];
}
