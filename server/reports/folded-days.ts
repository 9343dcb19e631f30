// The days of calls that are folded into counts, and the gaps between them that are counted from the calls.
import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";
import type { ReportRange } from "./report-range.ts";

/** Gaps of one report. With more, the last ones are joined: each gap is a part of the statement. */
const gaps_max = 5;

/** A time range: the beginnings of its folded days, and the rest of it. */
export type FoldedRange = { readonly days: readonly Date[]; readonly gaps: readonly ReportRange[] };

/**
 * Returns the folded days within the range. A day that was folded in another time zone of the account counts only if
 * it is within one day of this one.
 */
export async function findFoldedDays(
  tx: Tx,
  account_id: number,
  { from, to }: ReportRange,
  time_zone: string,
): Promise<FoldedRange> {
  const { rows } = await sql<{ begins_at: Date; ends_at: Date }>`
    select d.begins_at, d.ends_at from call_report_days d
    where d.account_id = ${account_id} and d.begins_at >= ${from} and d.begins_at < ${to} and d.ends_at <= ${to}
      and (d.begins_at at time zone ${time_zone})::date
        = ((d.ends_at - interval '1 microsecond') at time zone ${time_zone})::date
    order by d.begins_at`.execute(tx);
  return splitRange(
    { from, to },
    rows.map(({ begins_at, ends_at }) => ({ from: begins_at, to: ends_at })),
  );
}

/** Splits a range into days, in order, and the gaps between them. */
function splitRange({ from, to }: ReportRange, days: readonly ReportRange[]): FoldedRange {
  const gaps: ReportRange[] = [];
  let end = from;
  for (const day of [...days, { from: to, to }]) {
    if (day.from > end) gaps.push({ from: end, to: day.from });
    end = day.to;
  }
  const joined = gaps.slice(gaps_max - 1);
  const all =
    joined.length < 2
      ? gaps
      : [...gaps.slice(0, gaps_max - 1), { from: joined[0]!.from, to: joined.at(-1)!.to }];
  const isOutside = (day: ReportRange) =>
    all.every((gap) => day.from < gap.from || day.from >= gap.to);
  return { days: days.filter(isOutside).map((day) => day.from), gaps: all };
}
