// Everything that leaves the house as CSV is written here: page by page, so that memory holds one page,
// no transaction stays open, and when nobody reads on, no further page is asked for.
import { stringify } from "csv-stringify/sync";
import { inertCell } from "./inert-cell.ts";

/** Times become ISO 8601, lists and objects JSON; what is null leaves the cell empty. */
export type Cell = string | number | boolean | Date | object | null | undefined;

export type CsvPages<Row> = {
  readonly header: readonly string[];
  /** Rows asked for at once. */
  readonly page_rows: number;
  /** The next rows after one, or the first of all; fewer than `limit` are the last. */
  readonly next: (after: Row | null, limit: number) => Promise<readonly Row[]>;
  readonly cells: (row: Row) => readonly Cell[];
};

/** Chunks of CSV (RFC 4180) with a header line; text that a spreadsheet would run is inert. */
export async function* writeCsv<Row>(pages: CsvPages<Row>): AsyncGenerator<string> {
  const { header, page_rows, next, cells } = pages;
  yield csvLines([header]);
  for (let after: Row | null = null; ;) {
    const rows: readonly Row[] = await next(after, page_rows);
    if (rows.length > 0) yield csvLines(rows.map(cells));
    if (rows.length < page_rows) return;
    after = rows.at(-1)!;
  }
}

/** Rows, each with its line's end. */
export function csvLines(rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((cells) => cells.map(textOf));
  return stringify(texts, { record_delimiter: "\r\n", quoted_match: elsewhere_a_separator });
}

/** Many readers take these for separators as well, where they stand in no quotes. */
const elsewhere_a_separator = /[\r\n\t;]/;

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "string") return inertCell(cell);
  if (cell instanceof Date) return cell.toISOString();
  return typeof cell === "object" ? inertJson(cell) : String(cell);
}

/** A reader who splits at semicolons, whatever is quoted, finds none there before a formula's sign. */
function inertJson(value: object): string {
  return JSON.stringify(value).replaceAll(/;(?=[\s']*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g, "\\u003b");
}
