// The call report as CSV, page by page: memory holds one page, no transaction stays open, and when
// nobody reads on, no further page is asked for.
import { stringify } from "csv-stringify/sync";
import type { App } from "../engine/app.ts";
import { callsBefore, type CallFilter } from "./call-records.ts";
import { CallRecord } from "./call-record-schema.ts";

const page_rows = 500;

const columns = Object.keys(CallRecord.properties) as readonly (keyof CallRecord)[];

/** The calls that the filter lets through, newest first, as chunks of CSV with a header line; lists are JSON. */
export async function* exportCalls(
  app: App,
  accountId: number,
  filter: CallFilter,
): AsyncGenerator<string> {
  yield csv([[...columns]]);
  let before: number | null = null;
  for (;;) {
    const at = { id: before, limit: page_rows };
    const rows: CallRecord[] = await callsBefore(app.db.query, accountId, filter, at);
    if (rows.length === 0) return;
    yield csv(rows.map((row) => columns.map((column) => cellOf(row[column]))));
    if (rows.length < page_rows) return;
    before = rows.at(-1)!.call_id;
  }
}

/**
 * Text that a spreadsheet would run as a formula gets an apostrophe in front; a phone number with its
 * plus stays as it is.
 */
function csv(rows: unknown[][]): string {
  return stringify(rows, {
    escape_formulas: true,
    record_delimiter: "\r\n",
    cast: { string: (text) => (phone.test(text) ? { ...plain, value: text } : text) },
  });
}

const phone = /^\+[0-9]{7,15}$/;
const plain = { escape_formulas: false };

function cellOf(value: CallRecord[keyof CallRecord]): unknown {
  if (typeof value === "boolean") return String(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}
