/**
 * The cell, with an apostrophe before what a spreadsheet would run; cellText takes it off again. Phones
 * with a plus and numbers with a sign stay as they are.
 */
export function inertCell(cell: string): string {
  const isNumber = /^[+-][\d\s().,-]*$/.test(cell);
  return /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell) && !isNumber ? `'${cell}` : cell;
}
