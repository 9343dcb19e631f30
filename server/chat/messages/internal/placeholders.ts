// `{{placeholders}}` in the texts of templates and flows.
import type { TextParts } from "../message-plan.ts";

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/;

/** Splits a text at its placeholders: even entries are fixed text, odd entries are keys. */
export function cutText(text: string): TextParts {
  // The capturing group makes split() keep the keys.
  return text.split(placeholder);
}

/** Returns the distinct keys of a text's placeholders, in order of appearance. */
export function keysOf(text: string): string[] {
  return [...new Set(cutText(text).filter((_, i) => i % 2 === 1))];
}
