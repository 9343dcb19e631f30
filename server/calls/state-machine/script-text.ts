// Texts with `{{name}}` and `{{name|default text}}` in them: what is said differs from person to person.

/** The longest text that is spoken, in characters. */
export const spoken_characters_max = 5_000;
/** The longest text that tells an AI agent what to do. */
export const instruction_characters_max = 20_000;
/** The longest value that goes into a text. */
const value_characters_max = 500;

// The default ends at the first brace, so that one which is never closed is seen as such.
const placeholder = /\{\{([^{}|]*)(?:\|([^{}]*))?\}\}/g;
const name_pattern = /^[A-Za-z0-9_ .-]{1,64}$/;

export type Placeholder = {
  readonly name: string;
  /** Null: there is none, so that a value has to be given; "" says nothing. */
  readonly fallback: string | null;
};

/** Every placeholder of a text in order, also twice the same. */
export function placeholdersOf(text: string): Placeholder[] {
  return [...text.matchAll(placeholder)].map(readPlaceholder);
}

/**
 * The text with its values in their places, and which placeholders have neither value nor default (each
 * once, and nothing in its place). A blank value is as good as none. Values are cut at 500 characters,
 * the whole at 5,000 unless said; control characters become spaces.
 */
export function fillText(
  text: string,
  variables: Readonly<Record<string, string>>,
  characters_max = spoken_characters_max,
): { text: string; missing: string[] } {
  const missing = new Set<string>();
  const filled = text.replaceAll(placeholder, (...match) => {
    const { name, fallback } = readPlaceholder(match as string[]);
    // Not any key of Object's own, such as `constructor`.
    const value = Object.hasOwn(variables, name) ? plainText(variables[name]!) : "";
    if (value !== "") return value;
    if (fallback === null) missing.add(name);
    return fallback ?? "";
  });
  return { text: cut(filled, characters_max), missing: [...missing] };
}

/** Why a text's placeholders cannot be read, or null when they can. */
export function validateScript(text: string): string | null {
  const rest = text.replaceAll(placeholder, " ");
  if (rest.includes("{{")) return "has a {{ that no }} ends";
  if (rest.includes("}}")) return "has a }} without a {{ before it";
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

/** Cuts between characters, never within one. */
function cut(text: string, characters_max: number): string {
  if (text.length <= characters_max) return text;
  const isSplit = /[\uD800-\uDBFF]/.test(text[characters_max - 1]!);
  return text.slice(0, isSplit ? characters_max - 1 : characters_max);
}
