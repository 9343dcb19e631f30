import { CompiledQuery, sql, type Kysely, type RawBuilder } from "kysely";
import { invalidField } from "../errors.ts";
import type { DB } from "./database.ts";

/** Encodes an opaque keyset cursor: the end of the previous page. */
function encodeCursor(id: number): string {
  return Buffer.from(String(id)).toString("base64url");
}

/** Returns the ID in a cursor; 422 on `cursor` if it is invalid. */
export function decodeCursor(cursor: string): number {
  const id = Number(Buffer.from(cursor, "base64url").toString());
  if (!Number.isSafeInteger(id) || encodeCursor(id) !== cursor) {
    throw invalidField("cursor", "must be a next cursor of this list");
  }
  return id;
}

/** Like decodeCursor, for a list whose IDs are of 32 bits: an ID beyond them is kept at their end. */
export function decodeIntCursor(cursor: string): number {
  return Math.max(-(2 ** 31), Math.min(decodeCursor(cursor), 2 ** 31 - 1));
}

/** The table that a list reads, under its alias, and the column of the time that orders it. */
export type TimeOrder = {
  readonly table: string;
  readonly alias: string;
  readonly time: string;
};

/**
 * Returns the condition of the rows below the row with the ID, in the order of the time and the ID. The row itself
 * may have been deleted; the next older ID then gives its position.
 */
export function isBelow(order: TimeOrder, accountId: number, id: number): RawBuilder<boolean> {
  return sql<boolean>`${columnsOf(order)} < ${positionOf(order, accountId, id)}`;
}

/** Returns the condition of the row with the ID and of those above it, in the same order. */
export function isNotBelow(order: TimeOrder, accountId: number, id: number): RawBuilder<boolean> {
  return sql<boolean>`${columnsOf(order)} >= ${positionOf(order, accountId, id)}`;
}

function columnsOf({ alias, time }: TimeOrder): RawBuilder<unknown> {
  return sql`(${sql.ref(`${alias}.${time}`)}, ${sql.ref(`${alias}.id`)})`;
}

function positionOf({ table, time }: TimeOrder, accountId: number, id: number) {
  return sql`((select ${sql.ref(`b.${time}`)} from ${sql.table(table)} b
        where b.account_id = ${accountId} and b.id <= ${id} order by b.id desc limit 1),
      ${id}::bigint)`;
}

/** The rows that a page searches, at most, for those that match a filter without an index. */
export const searched_rows_max = 400;

type Candidate = { readonly id: number; readonly is_match?: boolean };
type Limited = { limit(rows: number): { execute(): Promise<Candidate[]> } };
type Searched = {
  offset(rows: number): {
    limit(rows: number): { executeTakeFirst(): Promise<{ id: number } | undefined> };
  };
};

/** The IDs of rows that a page may have; `end` is the last one that was searched, if there may be more rows behind it. */
export type Candidates = { readonly ids: readonly number[]; readonly end: number | null };

/** Returns those of the first rows that match; all, if the rows do not say so. */
export async function findCandidates(rows: Limited): Promise<Candidates> {
  const searched = await rows.limit(searched_rows_max).execute();
  const ids = searched.filter(({ is_match = true }) => is_match).map(({ id }) => id);
  return { ids, end: searched.length < searched_rows_max ? null : searched.at(-1)!.id };
}

/**
 * Returns the ID of the last row that a page searches, or null if it searches all. `rows` are the IDs of the rows to
 * search, in the order of the list: all that an index finds, without the filters that it does not have.
 */
export async function endOfSearch(rows: Searched): Promise<number | null> {
  const last = await rows
    .offset(searched_rows_max - 1)
    .limit(1)
    .executeTakeFirst();
  return last?.id ?? null;
}

/**
 * The most bytes of the large columns of a page; the row that exceeds them is its last. 200 rows of a megabyte would
 * occupy a process for seconds.
 */
export const page_bytes_max = 4_000_000;

/** Rows up to a limit of rows and one of bytes. */
export type BoundedRows<Row> = {
  /** At least one, if there are any. */
  readonly rows: Row[];
  /** Whether their bytes ended them, so that more rows follow. */
  readonly isCut: boolean;
};

/** The matching rows of the part that a page searches; `end` is as in Candidates. */
export type SearchedPart<Row> = BoundedRows<Row> & { readonly end: number | null };

/**
 * Reads the rows below an ID (null: all) part by part until one has any, for an export: each statement reads few rows,
 * however rare the matching ones are.
 */
export async function searchParts<Row>(
  before: number | null,
  read: (before: number | null) => Promise<SearchedPart<Row>>,
): Promise<BoundedRows<Row>> {
  for (let from = before; ;) {
    const { rows, isCut, end } = await read(from);
    if (rows.length > 0 || end === null) return { rows, isCut: isCut || end !== null };
    from = end;
  }
}

type Bounds<Column extends string> = {
  /** The columns that may be large; only these are measured. */
  readonly large: readonly Column[];
  /** The order of the rows, which distinguishes each of them, such as `id desc`. */
  readonly order: string;
  readonly bytes_max?: number;
};

/** What a statement of boundedSql adds to its rows. */
export type Measured = { readonly rows_found: number; readonly bytes_before: number };

/**
 * Executes a query whose limit is one more than the rows of a page, and returns its rows up to page_bytes_max. The rows
 * beyond stay in PostgreSQL.
 */
export async function readBounded<Row>(
  db: Kysely<DB>,
  query: { compile(db: Kysely<DB>): CompiledQuery<Row> },
  bounds: Bounds<keyof Row & string>,
): Promise<BoundedRows<Row>> {
  const { sql: text, parameters } = query.compile(db);
  const bounded = CompiledQuery.raw(boundedSql(text, bounds), [...parameters]);
  return boundedRows((await db.executeQuery<Row & Measured>(bounded)).rows);
}

/**
 * Returns a statement that reads the first rows of another one; boundedRows converts its result. JSON is measured as
 * text, because its stored size is the compressed one.
 */
export function boundedSql(
  text: string,
  { large, order, bytes_max = page_bytes_max }: Bounds<string>,
): string {
  const bytes = large.map((column) => `coalesce(octet_length(${column}::text), 0)`);
  return `with found as materialized (${text})
    select * from (
      select *, count(*) over () as rows_found, coalesce(sum(${bytes.join(" + ")}) over (
        order by ${order} rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from found) measured
    where bytes_before < ${bytes_max} order by ${order}`;
}

/** Returns the rows of a statement of boundedSql. */
export function boundedRows<Row>(measured: readonly (Row & Measured)[]): BoundedRows<Row> {
  const rows = measured.map(({ rows_found: _found, bytes_before: _before, ...row }) => row as Row);
  return { rows, isCut: rows.length < (measured[0]?.rows_found ?? 0) };
}

/** How often a request searches for the rows of its page. */
const searches_max = 12;
/** The rows that a request searches, at most, for those of its page. */
export const rows_of_request_max = searched_rows_max * searches_max;

/** Half, because PostgreSQL's text of JSON, which ends a page, has more spaces. */
const full_bytes = page_bytes_max / 2;

type Listed = {
  readonly data: readonly unknown[];
  readonly next_cursor?: string | null;
  readonly nextCursor?: string | null;
};

/**
 * Searches on where a search has ended until the page is full, by its rows or by about page_bytes_max: only what is rare
 * among many rows takes more than one request.
 */
export async function searchOn<
  At extends { readonly limit: number; readonly cursor?: string | undefined },
  Page extends Listed,
>(at: At, list: (at: At) => Promise<Page>): Promise<Page> {
  let found = await list(at);
  const data = [...found.data];
  let bytes = 0;
  for (let searches = 1; searches < searches_max && data.length < at.limit; searches++) {
    const cursor = found.next_cursor ?? found.nextCursor;
    if (!cursor) break;
    bytes += Buffer.byteLength(JSON.stringify(found.data));
    if (bytes >= full_bytes) break;
    found = await list({ ...at, cursor, limit: at.limit - data.length });
    data.push(...found.data);
  }
  return { ...found, data };
}

/**
 * Builds a page from up to limit + 1 rows: the extra row shows that there are more, unless bytes ended them. `end` is the
 * ID of the last row that was searched, if there are more rows behind it: the next page then begins there, however few
 * were found.
 */
export function page<Row extends { id: number }>(
  found: Row[] | BoundedRows<Row>,
  limit: number,
  end: number | null = null,
): { rows: Row[]; next: string | null } {
  const { rows, isCut } = Array.isArray(found) ? { rows: found, isCut: false } : found;
  if (rows.length <= limit && !isCut)
    return { rows, next: end === null ? null : encodeCursor(end) };
  const kept = rows.slice(0, limit);
  return { rows: kept, next: encodeCursor(kept.at(-1)!.id) };
}
