// What reports of messages and of calls have in common: one statement counts all groups and the totals
// in one pass, and gives a page of the groups.
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { DB } from "../lib/database.ts";
import { searches } from "../lib/searches.ts";

/** Of a page: the groups after a place in their order, null for the first. */
export type ReportPlace = { readonly after: number | null; readonly limit: number };

/** A group as it is read; `sort` is its place in their order. */
export type CountedRow = Readonly<Record<string, number | string | null>> & {
  readonly sort: number;
};

export type Counted = { readonly rows: readonly CountedRow[]; readonly totals: CountedRow };

export type Counting = {
  readonly account_id: number;
  /** CTEs, the last of them `counted`: rows with `is_total`, `key` and the counts. */
  readonly ctes: RawBuilder<unknown>;
  /** A group's place in the order, a bigint of `key`, without gaps that matter. */
  readonly sort: RawBuilder<unknown>;
  /** Columns that tell what the key means, of `page` and `joins`. */
  readonly names: RawBuilder<unknown>;
  readonly joins: RawBuilder<unknown>;
};

/** Groups after the place, one more than `limit` where there are more. */
export async function countGroups(
  db: Kysely<DB>,
  { account_id, ctes, sort, names, joins }: Counting,
  { after, limit }: ReportPlace,
): Promise<Counted> {
  const isAfter = after === null ? sql`true` : sql`sort > ${after}`;
  const query = sql<CountedRow & { readonly is_total: boolean }>`
    with ${ctes},
    sorted as (select counted.*, ${sort} as sort from counted),
    page as materialized (
      select * from sorted where is_total or ${isAfter}
      order by is_total desc, sort limit ${limit + 2}
    )
    select page.*, ${names} from page ${joins} order by is_total desc, sort`;
  const { rows } = await searches.use(account_id, () => query.execute(db));
  const [totals, ...groups] = rows;
  return { rows: groups, totals: totals! };
}

/** By rank, for keys that are texts; those without come last. */
export const byRank = sql`row_number() over (partition by is_total order by key)`;

/** As the day of the account's zone. */
export function dayOf(time: RawBuilder<unknown>, timeZone: string): RawBuilder<unknown> {
  return sql`(${time} at time zone ${timeZone})::date`;
}

/** A share or an average; null of nothing. */
export function ratio(part: number, whole: number, digits = 4): number | null {
  return whole === 0 ? null : Number((part / whole).toFixed(digits));
}
