/** First columns, number and cells of a row in COPY's text format, the cells as a text[] literal. */
export function copyLine(first_columns: string, row_number: number, cells: string[]): string {
  return `${first_columns}\t${row_number}\t{${cells.map(copyCell).join(",")}}\n`;
}

const special = /["\\\n\r\t]/;

/** Escaped twice where it must be: for the array, then for COPY. */
function copyCell(cell: string): string {
  if (!special.test(cell)) return `"${cell}"`;
  const element = cell.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  const copied = element
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t");
  return `"${copied}"`;
}
