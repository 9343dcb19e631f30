/** Most cells are harmless: by their first character, and because no reader would split them. */
const harmless = /^[\w{[][^;\t\r\n]*$/;
const blanks = /^[\s'"]*/;
const sign = /[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/** A phone number or a part of one, with the usual separators. */
const phone = /^\+[ (]{0,2}\d(?:[ ().-]{0,3}\d){3,14}$/;
const number = /^[+-]\d+(?:[.,]\d+)*$/;
/** Where readers that use other separators begin a cell or line, even inside quotes; captured by split. */
const splits = /([;\t\r\n])/;

/**
 * Returns the text with an apostrophe before anything that a spreadsheet would execute, including after blanks
 * and quotes, and where a reader that splits at semicolons, tabs or lines would begin a cell. cellText removes
 * the apostrophes, so a text that already has one gets another. Phones with a plus and signed numbers stay.
 */
export function inertCell(text: string): string {
  if (harmless.test(text)) return text;
  const whole = beginsFormula(text) && !isFigure(text) ? `'${text}` : text;
  const parts = whole.split(splits);
  let only_figures = true;
  for (let i = parts.length - 1; i > 0; i -= 2) {
    const part = parts[i]!;
    // The same text is a number to a reader that does not split after it.
    only_figures &&= part.trim() === "" || isFigure(part);
    if (!only_figures && beginsWithSign(part)) parts[i] = `'${part}`;
  }
  return parts.join("");
}

/** Undoes inertCell, except for surrounding blanks. */
export function plainCell(text: string): string {
  const parts = text.split(splits);
  for (let i = 2; i < parts.length; i += 2) {
    const part = parts[i]!;
    if (part.startsWith("'") && beginsWithSign(part)) parts[i] = part.slice(1);
  }
  const whole = parts.join("");
  return whole.startsWith("'") && beginsFormula(whole.slice(1)) ? whole.slice(1) : whole;
}

/** Reports whether a formula sign, tab or line break precedes everything but blanks and quotes. */
function beginsFormula(text: string): boolean {
  const [lead] = blanks.exec(text.trimEnd())!;
  return beginsWithSign(text) || /[\t\r]/.test(lead);
}

function beginsWithSign(text: string): boolean {
  const [lead] = blanks.exec(text)!;
  return sign.test(text.charAt(lead.length));
}

function isFigure(text: string): boolean {
  return phone.test(text) || number.test(text);
}
