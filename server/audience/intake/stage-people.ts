// Stages an uploaded list of people in the temporary table `people`, from which an import then writes
// in one statement, in the order of phone keys. All in one transaction: an invalid file stores nothing.
import type pg from "pg";
import { copyLines } from "../../lib/csv/copy-lines.ts";
import { openLineThread, type LineThread } from "../../lib/csv/open-line-thread.ts";
import { invalidField, type FieldError } from "../../lib/errors.ts";
import { recipients_max } from "./limits.ts";
import { locateColumn } from "./locate-column.ts";
import type { FileProgress } from "./run-file-thread.ts";
import { people_format } from "./internal/people-format.ts";
import type { PeopleTerms } from "./internal/people-thread.ts";

export type Staged = {
  readonly total_rows: number;
  /** Distinct phones: the rows of `people`. */
  readonly people_count: number;
  readonly duplicate_count: number;
  readonly rejected_count: number;
  readonly rejects: { row_number: number; errors: FieldError[] }[];
};

export const import_seconds_max = 600;
const people_thread = new URL("./internal/people-thread.ts", import.meta.url);

/**
 * Fills `people (phone, name, variables, phone_key primary key)`, dropped at commit, with the first valid row of
 * each phone in any spelling. `onHeader` locates the columns or refuses. Refuses: validation-failed on `file` if it is
 * not CSV or has no rows.
 */
export async function stagePeople(
  client: pg.PoolClient,
  fd: number,
  onHeader: (header: readonly string[]) => Omit<PeopleTerms, "prefix">,
): Promise<Staged> {
  await client.query(`
    create temporary table people (phone text not null, name text, variables jsonb not null,
      phone_key text primary key generated always as (phone_key(phone)) stored)
    on commit drop`);
  const data = { fd, rows_max: recipients_max };
  const file: LineThread<PeopleTerms, FileProgress<FieldError[]>> = await openLineThread(
    people_thread,
    data,
    import_seconds_max,
  );
  try {
    const lines = file.lines({ ...onHeader(file.header), prefix: "" });
    await copyLines(client, people_format.copy_sql, lines, import_seconds_max);
  } finally {
    await file.close();
  }
  const { counts, rejects } = file.progress()!;
  const total_rows = counts.valid + counts.invalid + counts.duplicate;
  if (total_rows === 0) throw invalidField("file", "has no rows below its header");
  return {
    total_rows,
    people_count: counts.valid,
    duplicate_count: counts.duplicate,
    rejected_count: counts.invalid,
    rejects: rejects!.rows.map((row_number, i) => ({ row_number, errors: rejects!.reasons[i]! })),
  };
}

/** Runs one statement over all of `people`, with a longer time limit than the pool's. */
export function queryPeople<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  text: string,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const config = { text, values, query_timeout: import_seconds_max * 1_000 };
  return client.query<Row>(config);
}

/** The column of the numbers if the request does not name one. */
export const default_phone_column = "phone_number";

/** Returns the index of the column of the numbers or names; or adds a violation on `field` and returns -1. */
export function locatePeopleColumn(
  header: readonly string[],
  name: string,
  field: string,
  violations: FieldError[],
): number {
  const at = locateColumn(header, name);
  if (typeof at === "number") return at;
  const isDefault = name === default_phone_column && !header.includes(name);
  const reason = isDefault ? `is required because the file has no column ${name}` : at;
  violations.push({ field, reason });
  return -1;
}
