// Scripts: texts with the variables `{{name}}` and `{{name|default text}}`, filled in for each recipient.

/** The longest text to synthesize, in characters. */
export const script_characters_max = 5_000;
/** The longest instructions of an AI agent, in characters. */
export const instruction_characters_max = 20_000;
/** The longest value of a variable, in characters. */
const value_characters_max = 500;

// A default contains no brace, so that an unclosed placeholder is detected.
const placeholder = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g;
const name_pattern = /^[A-Za-z0-9_ .-]{1,64}$/;

export type Placeholder = {
  readonly name: string;
  /** The default; null: a value is required. */
  readonly fallback: string | null;
};

/** Returns every placeholder of a text in order, with duplicates. */
export function placeholdersOf(text: string): Placeholder[] {
  return [...text.matchAll(placeholder)].map(readPlaceholder);
}

/**
 * Returns the text with its variables filled in, and the distinct names in `missing` that have neither value
 * nor default and are filled with "". A blank value counts as missing. Truncates values to 500 characters and
 * the text to `characters_max`; replaces control characters in values with spaces.
 */
export function fillText(
  text: string,
  variables: Readonly<Record<string, string>>,
  characters_max = script_characters_max,
): { text: string; missing: string[] } {
  const missing = new Set<string>();
  const filled = text.replaceAll(placeholder, (...match) => {
    const { name, fallback } = readPlaceholder(match as string[]);
    // Ignores inherited keys, such as `constructor`.
    const value = Object.hasOwn(variables, name) ? plainText(variables[name]!) : "";
    if (value !== "") return value;
    if (fallback === null) missing.add(name);
    return fallback ?? "";
  });
  return { text: cut(filled, characters_max), missing: [...missing] };
}

/** Returns why a text's placeholders are invalid, or null if they are valid. */
export function validateScript(text: string): string | null {
  const rest = text.replaceAll(placeholder, " ");
  if (rest.includes("{{")) return "must close every {{ with }}";
  if (rest.includes("}}")) return "must open every }} with {{";
  const bad = placeholdersOf(text).find(({ name }) => !name_pattern.test(name));
  if (!bad) return null;
  return `has a placeholder {{${cut(bad.name, 70)}}}: its name must be 1 to 64 letters, digits, spaces, _, . or -`;
}

function readPlaceholder([, name, fallback]: string[]): Placeholder {
  return { name: name!.trim(), fallback: fallback?.trim() ?? null };
}

function plainText(value: string): string {
  return cut(value.replaceAll(/\p{Cc}+/gu, " ").trim(), value_characters_max).trim();
}

/** Truncates the text without splitting a surrogate pair. */
function cut(text: string, characters_max: number): string {
  if (text.length <= characters_max) return text;
  const isSplit = /[\uD800-\uDBFF]/.test(text[characters_max - 1]!);
  return text.slice(0, isSplit ? characters_max - 1 : characters_max);
}
