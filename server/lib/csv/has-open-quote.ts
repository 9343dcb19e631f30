const line_break = /[\r\n]/;

/**
 * Reports whether a quote was not closed in its line: the parser then ends the cell at the quote of a later row, and
 * keeps the rows between as text of this cell. `raw` is the record's text in the file. Takes one pass over it.
 */
export function hasOpenQuote(cells: readonly string[], raw: string, delimiter: string): boolean {
  // The text of a correctly quoted cell may begin with a quote, too.
  if (!cells.some((cell) => cell.startsWith('"') && line_break.test(cell))) return false;
  const isEndOfCell = (at: number) =>
    at >= raw.length || raw[at] === delimiter || line_break.test(raw[at]!);
  for (let at = 0; ;) {
    if (raw[at] === '"') {
      const end = endOfQuoted(raw, at);
      if (!isEndOfCell(end) && line_break.test(raw.slice(at, end))) return true;
      at = end;
    }
    const next = raw.indexOf(delimiter, at);
    if (next < 0) return false;
    at = next + 1;
  }
}

/** Returns the position behind the quote that closes the one at `start`. */
function endOfQuoted(raw: string, start: number): number {
  let at = raw.indexOf('"', start + 1);
  while (at >= 0 && raw[at + 1] === '"') at = raw.indexOf('"', at + 2);
  return at < 0 ? raw.length : at + 1;
}
