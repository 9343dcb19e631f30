// Names that accounts choose are printed on the operator's terminal.

const pattern = String.raw`[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`;
const unprintable = new RegExp(`(?!\\n)${pattern}`, "gu");
const unprintable_on_one_line = new RegExp(pattern, "gu");

const escape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Replaces characters that control a terminal or the direction of text by their \u form, but not the ends of lines. In JSON,
 * the strings stay the same.
 */
export function printable(text: string): string {
  return text.replaceAll(unprintable, escape);
}

/** Replaces ends of lines too, so that a name forges no line. */
export function onOneLine(text: string): string {
  return text.replaceAll(unprintable_on_one_line, escape);
}
