// What the bars of a report stand for: its rows, or days and weeks without gaps.
import { formatDay } from "./report-rows.ts";

type Bar = { readonly name: string; readonly count: number };
type Day = { readonly date: string; readonly count: number };

const bars_max = 60;
const day_ms = 86_400_000;
const week_days = 7;

/**
 * Returns what to draw of rows of days, campaigns, numbers or agents. Of thousands of rows the first are drawn; days in
 * their order, by week if they are many. A day without data has no row, but a place between the others.
 */
export function drawReport(
  by: string,
  rows: readonly (Bar & { readonly date: string | undefined })[],
): { readonly by: string; readonly bars: readonly Bar[] } {
  const dated = rows.flatMap(({ date, count }) => (date === undefined ? [] : [{ date, count }]));
  if (dated.length === 0) return { by, bars: rows.slice(0, bars_max) };
  const days = allDays(dated);
  if (days.length <= bars_max)
    return { by, bars: days.map(({ at_ms, count }) => ({ name: nameOf(at_ms), count })) };
  return { by: "week", bars: inWeeks(days) };
}

/** The last week may be shorter. */
function inWeeks(days: readonly { readonly at_ms: number; readonly count: number }[]): Bar[] {
  return Array.from({ length: Math.ceil(days.length / week_days) }, (_, at) => {
    const week = days.slice(at * week_days, (at + 1) * week_days);
    return {
      name: [...new Set([nameOf(week[0]!.at_ms), nameOf(week.at(-1)!.at_ms)])].join(" to "),
      count: week.reduce((sum, { count }) => sum + count, 0),
    };
  });
}

const nameOf = (at_ms: number) => formatDay(new Date(at_ms).toISOString());

/** Each day from the first row to the last. */
function allDays(rows: readonly Day[]): { at_ms: number; count: number }[] {
  const counts = new Map(rows.map(({ date, count }) => [Date.parse(date), count]));
  const first_ms = Math.min(...counts.keys());
  const length = (Math.max(...counts.keys()) - first_ms) / day_ms + 1;
  return Array.from({ length }, (_, at) => {
    const at_ms = first_ms + at * day_ms;
    return { at_ms, count: counts.get(at_ms) ?? 0 };
  });
}
