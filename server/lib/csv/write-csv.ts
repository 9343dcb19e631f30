// Writes every CSV export page by page: memory holds one page, no transaction stays open, and no further page
// is read when the reader stops.
import { stringify } from "csv-stringify/sync";
import type { BoundedRows } from "../database/cursor.ts";
import { inertCell } from "./inert-cell.ts";

/** Times become ISO 8601, lists and objects JSON, null an empty cell. */
export type Cell = string | number | boolean | Date | object | null | undefined;

export type CsvPages<Row> = {
  readonly header: readonly string[];
  /** Rows per page. */
  readonly page_rows: number;
  /** Returns the rows after one, or the first rows; fewer than `limit` are the last, unless bytes ended them. */
  readonly next: (after: Row | null, limit: number) => Promise<readonly Row[] | BoundedRows<Row>>;
  readonly cells: (row: Row) => readonly Cell[];
};

/** Streams CSV (RFC 4180) with a header; text that a spreadsheet would execute is made inert. */
export async function* writeCsv<Row>(pages: CsvPages<Row>): AsyncGenerator<string> {
  const { header, page_rows, next, cells } = pages;
  yield csvLines([header]);
  let limit = page_rows;
  for (let after: Row | null = null; ;) {
    const found: readonly Row[] | BoundedRows<Row> = await next(after, limit);
    const { rows, isCut } = "rows" in found ? found : { rows: found, isCut: false };
    if (rows.length > 0) yield csvLines(rows.map(cells));
    if (rows.length < limit && !isCut) return;
    after = rows.at(-1)!;
    // Rows beyond the bytes of a page were measured in vain.
    limit = Math.min(page_rows, 2 * (isCut ? rows.length : limit));
  }
}

/** Formats rows, each with its line ending. */
export function csvLines(rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((cells) => cells.map(textOf));
  return stringify(texts, { record_delimiter: "\r\n", quoted_match: elsewhere_a_separator });
}

/** Characters that many readers treat as separators outside quotes. */
const elsewhere_a_separator = /[\r\n\t;]/;

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "string") return inertCell(cell);
  if (cell instanceof Date) return cell.toISOString();
  return typeof cell === "object" ? inertJson(cell) : String(cell);
}

/** Escapes semicolons before formula signs, for readers that split there even inside quotes. */
function inertJson(value: object): string {
  return JSON.stringify(value).replaceAll(/;(?=[\s']*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g, "\\u003b");
}
