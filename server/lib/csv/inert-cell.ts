/** Most cells are told at their first character. */
const harmless = /^[\w{[]/;
const before_text = /^[\s']*/;
const sign = /[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/** Or a part of one, separated as people do. */
const phone = /^\+[ (]{0,2}\d(?:[ ().-]{0,3}\d){3,14}$/;
const number = /^[+-]\d+(?:[.,]\d+)*$/;

/**
 * The text, with an apostrophe before what a spreadsheet would run, also behind blanks; cellText takes
 * it off again, and so one more comes before a text that has one already. Phones with a plus and
 * numbers with a sign stay as they are.
 */
export function inertCell(text: string): string {
  if (harmless.test(text)) return text;
  return beginsFormula(text) && !phone.test(text) && !number.test(text) ? `'${text}` : text;
}

/** Whether a formula's sign, or a tab or line break, comes before all else but blanks and apostrophes. */
export function beginsFormula(text: string): boolean {
  const kept = text.trimEnd();
  const [lead] = before_text.exec(kept)!;
  return sign.test(kept.charAt(lead.length)) || /[\t\r]/.test(lead);
}
