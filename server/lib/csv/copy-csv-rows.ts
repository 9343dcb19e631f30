// Streams the rows of an uploaded CSV file into a table, parsed in its own thread.
import type pg from "pg";
import { invalidField } from "../errors.ts";
import { copyLines } from "./copy-lines.ts";
import { openLineThread, type LineThreadData } from "./open-line-thread.ts";

const csv_thread = new URL("./csv-thread.ts", import.meta.url);

/**
 * Reads the open file from its start and returns the number of rows stored by `copy_sql`, a COPY whose last two
 * columns are the row number in the file and its cells. `onHeader` may refuse the header, and returns the values
 * of the columns before those (IDs, unescaped). Throws a violation of `file` for invalid CSV or too many
 * rows. After any error, the caller must roll back.
 */
export async function copyCsvRows(
  client: pg.PoolClient,
  file: LineThreadData & { readonly copy_sql: string; readonly seconds_max: number },
  onHeader: (header: string[]) => Promise<readonly number[]>,
): Promise<number> {
  const { copy_sql, seconds_max, ...data } = file;
  const thread = await openLineThread<string, number>(csv_thread, data, seconds_max);
  try {
    const first_columns = (await onHeader(thread.header)).join("\t");
    await copyLines(client, copy_sql, thread.lines(first_columns), seconds_max);
    const rows = thread.progress()!;
    if (rows === 0) throw invalidField("file", "has no rows below its header");
    return rows;
  } finally {
    await thread.close();
  }
}
