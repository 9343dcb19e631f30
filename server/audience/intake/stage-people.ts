// An uploaded list of people becomes the temporary table `people`, by which a verb then writes in
// one statement and in the phones' order. It is all one transaction: a broken file leaves nothing.
import type pg from "pg";
import { copyCsvRows } from "../../lib/csv/copy-csv-rows.ts";
import type { FieldError } from "../../lib/errors.ts";
import { rejects_told_max } from "./csv-schema.ts";

/** What a row says; null variables are none. */
export type Person = {
  readonly phone: string;
  readonly name: string | null;
  readonly variables: Readonly<Record<string, string>>;
};

/** Reads one row's cells: a person, or what is wrong with them. */
export type ReadPerson = (cells: readonly string[]) => Person | { readonly errors: FieldError[] };

export type Staged = {
  readonly total_rows: number;
  /** Distinct phones: the rows of `people`. */
  readonly people_count: number;
  readonly duplicate_count: number;
  readonly rejected_count: number;
  readonly rejects: { row_number: number; errors: FieldError[] }[];
};

export const import_seconds_max = 600;
const rows_max = 1_000_000;
/** A batch is validated in some ten milliseconds: the process serves requests in between. */
const batch_rows = 2_000;

/**
 * Fills `people (phone primary key, name, variables)`, dropped at commit, with the first row of each
 * phone. `onHeader` finds the columns or refuses. Refuses what is no CSV, on `file`.
 */
export async function stagePeople(
  client: pg.PoolClient,
  accountId: number,
  fd: number,
  onHeader: (header: readonly string[]) => ReadPerson,
): Promise<Staged> {
  await client.query(`
    create temporary table people_cells (account_id bigint, row_number integer, cells text[])
    on commit drop`);
  await client.query(`
    create temporary table people (phone text primary key, name text, variables jsonb not null)
    on commit drop`);
  let readPerson: ReadPerson | null = null;
  const copy_sql = "copy people_cells (account_id, row_number, cells) from stdin";
  const file = { fd, copy_sql, rows_max, seconds_max: import_seconds_max };
  const total_rows = await copyCsvRows(client, file, async (header) => {
    readPerson = onHeader(header);
    return [accountId];
  });
  return { total_rows, ...(await validateCells(client, readPerson!)) };
}

async function validateCells(
  client: pg.PoolClient,
  readPerson: ReadPerson,
): Promise<Omit<Staged, "total_rows">> {
  const counts = { people_count: 0, duplicate_count: 0, rejected_count: 0 };
  const rejects: Staged["rejects"] = [];
  await client.query(
    "declare cells no scroll cursor for select row_number, cells from people_cells",
  );
  for (;;) {
    const { rows } = await client.query<{ row_number: number; cells: string[] }>(
      `fetch ${batch_rows} from cells`,
    );
    if (rows.length === 0) break;
    const people: Person[] = [];
    for (const { row_number, cells } of rows) {
      const read = readPerson(cells);
      if (!("errors" in read)) people.push(read);
      else if (++counts.rejected_count <= rejects_told_max)
        rejects.push({ row_number, errors: read.errors });
    }
    const added = await addPeople(client, people);
    counts.people_count += added;
    counts.duplicate_count += people.length - added;
  }
  await client.query("close cells");
  return { ...counts, rejects };
}

async function addPeople(client: pg.PoolClient, people: readonly Person[]): Promise<number> {
  const { rowCount } = await client.query(
    `insert into people (phone, name, variables)
     select phone, name, variables::jsonb
     from unnest($1::text[], $2::text[], $3::text[]) as sent (phone, name, variables)
     on conflict do nothing`,
    [
      people.map(({ phone }) => phone),
      people.map(({ name }) => name),
      people.map(({ variables }) => JSON.stringify(variables)),
    ],
  );
  return rowCount ?? 0;
}

/** One statement over all of `people`, which may last longer than the pool lets a query. */
export function queryPeople<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  text: string,
  values: unknown[],
): Promise<pg.QueryResult<Row>> {
  const config = { text, values, query_timeout: import_seconds_max * 1_000 };
  return client.query<Row>(config);
}

/** The column of the numbers where none is named. */
export const default_phone_column = "phone_number";

/** Where a column stands in the header, or a violation on `field` unless it is there exactly once. */
export function locateColumn(
  header: readonly string[],
  wanted: string,
  field: string,
): number | FieldError {
  const at = header.indexOf(wanted);
  if (at < 0) {
    const reason =
      wanted === default_phone_column
        ? `is required, as the file has no column ${wanted}`
        : "is not a column of the file";
    return { field, reason };
  }
  return header.lastIndexOf(wanted) === at ? at : { field, reason: "is the header of two columns" };
}
