// Shared by the message and call reports: one statement counts all groups and the totals in one pass and
// returns a page of the groups.
import { sql, type RawBuilder } from "kysely";
import { clientTransaction } from "../lib/database/client-transaction.ts";
import { writeCsv, type Cell } from "../lib/csv/write-csv.ts";
import { decodeCursor, page } from "../lib/database/cursor.ts";
import type { Database, Tx } from "../lib/database/database.ts";
import { searches } from "../lib/database/searches.ts";
import type { ReportRange } from "./report-range.ts";

/** Large, because each page counts the whole time range again. */
const csv_page_rows = 20_000;
/** Enough for a year of an account with millions of messages a month. */
const seconds_max = 60;
/** For the hash tables of the groups and their joins. */
const work_mem = "32MB";

/** A page: the groups after this position in their order; null for the first page. */
type ReportPosition = { readonly after: number | null; readonly limit: number };

/** A group as it is read; `sort` is its position in their order. */
export type CountedRow = Readonly<Record<string, number | string | null>> & {
  readonly sort: number;
};

type Counted = { readonly rows: readonly CountedRow[]; readonly totals: CountedRow };

export type Counting = {
  /** Whether the joined rows are in index order and most of them are needed. */
  readonly in_order: boolean;
  /** CTEs, the last of them `counted`: rows with `is_total`, `key` and the counts. */
  readonly ctes: RawBuilder<unknown>;
  /** A group's position in the order: a bigint derived from `key`. */
  readonly sort: RawBuilder<unknown>;
  /** Columns that name the key, from `page` and `joins`. */
  readonly names: RawBuilder<unknown>;
  readonly joins: RawBuilder<unknown>;
};

/** A report: its time range, its columns and its query. */
export type Report<Totals extends object> = {
  readonly account_id: number;
  readonly range: ReportRange;
  /** The columns that identify a group. */
  readonly keys: readonly string[];
  /** The columns of counts, which `countsOf` computes. */
  readonly counts: readonly string[];
  readonly countsOf: (row: CountedRow) => Totals;
  /** Runs in the transaction, and sees the snapshot, of the statement that counts. */
  readonly counting: (tx: Tx) => Promise<Counting>;
};

/** Returns a page of the groups and the totals of all groups. Throws 422 on an invalid cursor. */
export async function readReport<Totals extends object>(
  db: Database,
  report: Report<Totals>,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const after = cursor === undefined ? null : decodeCursor(cursor);
  const { rows, totals } = await countGroups(db, report, { after, limit });
  const groups = rows.map((row) => ({ id: row.sort, row: rowOf(report, row) }));
  const shown = page(groups, limit);
  return {
    from: report.range.from.toISOString(),
    to: report.range.to.toISOString(),
    data: shown.rows.map(({ row }) => row),
    totals: report.countsOf(totals),
    next_cursor: shown.next,
  };
}

/** Returns the groups, without the totals, as chunks of CSV with a header line. */
export function exportReport<Totals extends object>(
  db: Database,
  report: Report<Totals>,
): AsyncGenerator<string> {
  const columns = [...report.keys, ...report.counts];
  return writeCsv<CountedRow>({
    header: columns,
    page_rows: csv_page_rows,
    next: async (last, limit) => {
      const place = { after: last?.sort ?? null, limit };
      return (await countGroups(db, report, place)).rows.slice(0, limit);
    },
    cells: (counted) => {
      const row: Readonly<Record<string, unknown>> = rowOf(report, counted);
      return columns.map((column) => row[column] as Cell);
    },
  });
}

function rowOf<Totals extends object>({ keys, countsOf }: Report<Totals>, row: CountedRow) {
  return { ...Object.fromEntries(keys.map((key) => [key, row[key]])), ...countsOf(row) };
}

/** Returns the groups after the position, one more than `limit` if there are more. */
async function countGroups<Totals extends object>(
  db: Database,
  { account_id, counting }: Pick<Report<Totals>, "account_id" | "counting">,
  position: ReportPosition,
): Promise<Counted> {
  const { rows } = await searches.use(account_id, () =>
    clientTransaction(db, seconds_max, async (tx) => {
      await sql`set transaction isolation level repeatable read`.execute(tx);
      const query = statementOf(await counting(tx), position);
      await setPlanner(tx, query.in_order);
      return query.statement.execute(tx);
    }),
  );
  const [totals, ...groups] = rows;
  return { rows: groups, totals: totals! };
}

function statementOf(
  { in_order, ctes, sort, names, joins }: Counting,
  { after, limit }: ReportPosition,
) {
  const isAfter = after === null ? sql`true` : sql`sort > ${after}`;
  const statement = sql<CountedRow & { readonly is_total: boolean }>`
    with ${ctes},
    sorted as (select counted.*, ${sort} as sort from counted),
    page as materialized (
      select * from sorted where is_total or ${isAfter}
      order by is_total desc, sort limit ${limit + 2}
    )
    select page.*, ${names} from page ${joins} order by is_total desc, sort`;
  return { in_order, statement };
}

/**
 * Forbids sorts, because the planner expects as many groups as rows and would sort all rows, and forces merge
 * joins in index order. A million calls by day took 3 s of CPU time, and take 0.9 s with these settings.
 */
async function setPlanner(tx: Tx, inOrder: boolean): Promise<void> {
  const others = inOrder ? "off" : "on";
  await sql`select set_config('work_mem', ${work_mem}, true), set_config('enable_sort', 'off', true),
    set_config('enable_hashjoin', ${others}, true), set_config('enable_nestloop', ${others}, true)`.execute(
    tx,
  );
}

/** The sort position of text keys: their rank; null keys come last. */
export const byRank = sql`row_number() over (partition by is_total order by key)`;

/** Returns SQL for the day of a time in the account's time zone. */
export function dayOf(time: RawBuilder<unknown>, timeZone: string): RawBuilder<unknown> {
  return sql`(${time} at time zone ${timeZone})::date`;
}

/** Returns SQL for the quarter-hour of a time: every zone's day begins at one, and it is ten times as fast as the day. */
export function quarterOf(time: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`date_bin('15 minutes', ${time}, 'epoch')`;
}

/** Returns a share or an average; null if `whole` is 0. */
export function ratio(part: number, whole: number, digits = 4): number | null {
  return whole === 0 ? null : Number((part / whole).toFixed(digits));
}
