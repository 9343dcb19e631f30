/** Most cells are told at their first character, and by holding nothing that any reader splits at. */
const harmless = /^[\w{[][^;\t\r\n]*$/;
const blanks = /^[\s'"]*/;
const sign = /[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;
/** Or a part of one, separated as people do. */
const phone = /^\+[ (]{0,2}\d(?:[ ().-]{0,3}\d){3,14}$/;
const number = /^[+-]\d+(?:[.,]\d+)*$/;
/** Where others than those of commas begin a cell or a line, whatever is quoted; kept between the parts. */
const splits = /([;\t\r\n])/;

/**
 * The text, with an apostrophe before what a spreadsheet would run, also behind blanks and quotes, and also
 * where one that splits at semicolons, tabs or lines would begin a cell with it; cellText takes each off
 * again, and so one more comes before a text that has one already. Phones with a plus and numbers with a
 * sign stay as they are.
 */
export function inertCell(text: string): string {
  if (harmless.test(text)) return text;
  const whole = beginsFormula(text) && !isFigure(text) ? `'${text}` : text;
  const parts = whole.split(splits);
  let only_figures = true;
  for (let i = parts.length - 1; i > 0; i -= 2) {
    const part = parts[i]!;
    // A figure is one to a reader who does not split behind it, too.
    only_figures &&= part.trim() === "" || isFigure(part);
    if (!only_figures && beginsWithSign(part)) parts[i] = `'${part}`;
  }
  return parts.join("");
}

/** Undoes inertCell, but for blanks around the text. */
export function plainCell(text: string): string {
  const parts = text.split(splits);
  for (let i = 2; i < parts.length; i += 2) {
    const part = parts[i]!;
    if (part.startsWith("'") && beginsWithSign(part)) parts[i] = part.slice(1);
  }
  const whole = parts.join("");
  return whole.startsWith("'") && beginsFormula(whole.slice(1)) ? whole.slice(1) : whole;
}

/** Whether a formula's sign, or a tab or line break, comes before all else but blanks and quotes. */
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
