const special = /[\\\n\r\t]/;

/** Escapes a text (or null) for COPY's text format. */
export function copyText(text: string | null): string {
  if (text === null) return "\\N";
  if (!special.test(text)) return text;
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
}

/** Formats first columns, number and cells of a row for COPY, the cells as a text[] literal. */
export function copyLine(first_columns: string, row_number: number, cells: string[]): string {
  return `${first_columns}\t${row_number}\t{${cells.map(copyElement).join(",")}}\n`;
}

const special_in_element = /["\\]/;

/** Escapes a text for the array, then for COPY. */
function copyElement(text: string): string {
  const element = special_in_element.test(text)
    ? text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')
    : text;
  return `"${copyText(element)}"`;
}
