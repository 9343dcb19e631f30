/**
 * Returns why the cells of a row do not fit a header of `width` columns, or null. Cells beyond the header are
 * not accepted unless they are blank: a cell with an unquoted separator shifts those after it.
 */
export function reasonAgainstCells(cells: readonly string[], width: number): string | null {
  for (let at = width; at < cells.length; at++)
    if (cells[at]!.trim() !== "") return `has more cells than the header's ${width}`;
  return null;
}
