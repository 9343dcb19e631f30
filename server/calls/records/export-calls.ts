// The export of call records as CSV.
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { callsBefore, type CallFilter } from "./call-records.ts";
import { CallRecord } from "./call-record-schema.ts";

const page_rows = 500;

const columns = Object.keys(CallRecord.properties) as readonly (keyof CallRecord)[];

/** Streams the matching calls, newest first, as chunks of CSV with a header line; lists are JSON. */
export function exportCalls(
  app: App,
  accountId: number,
  filter: CallFilter,
): AsyncGenerator<string> {
  return writeCsv<CallRecord>({
    header: columns,
    page_rows,
    next: (after, limit) =>
      callsBefore(app.db.query, accountId, filter, { id: after?.call_id ?? null, limit }),
    cells: (row) => columns.map((column) => row[column]),
  });
}
