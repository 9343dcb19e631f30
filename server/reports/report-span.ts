import { parseTimeOrDay, zoneOffset } from "../lib/parse-time.ts";
import { invalid, type FieldError } from "../lib/errors.ts";

const day_ms = 86_400_000;
const default_days = 30;
const days_max = 366;

/** What a report is of: from one time on, and before another. */
export type Span = { readonly from: Date; readonly to: Date };

/**
 * The span that is asked for, times without an offset being local to the zone, and a day being its begin:
 * until now, unless said, and from the midnight that makes it at most 30 days. Refuses, with 422 on each
 * field: what is no time, an end that is not after the begin, more than 366 days.
 */
export function readSpan(
  asked: { readonly from?: string; readonly to?: string },
  timeZone: string,
  now: Date,
): Span {
  const violations: FieldError[] = [];
  const read = (field: "from" | "to") => {
    const text = asked[field];
    const at = text === undefined ? undefined : parseTimeOrDay(text, timeZone);
    if (typeof at !== "string") return at;
    violations.push({ field, reason: at });
    return undefined;
  };
  const given = { from: read("from"), to: read("to") };
  if (violations.length > 0) throw invalid(violations);
  const to = given.to ?? now;
  const from = given.from ?? midnightBefore(new Date(to.getTime() - 1), default_days - 1, timeZone);
  const days = (to.getTime() - from.getTime()) / day_ms;
  // The one that was given is at fault.
  const field = given.to === undefined ? "from" : "to";
  if (days <= 0)
    throw invalid([
      { field, reason: field === "to" ? "must be after from" : "must be in the past" },
    ]);
  // A year in which clocks go back once is an hour longer.
  if (days > days_max + 1 / 24)
    throw invalid([{ field: "from", reason: `must be at most ${days_max} days before the end` }]);
  return { from, to };
}

/** The begin, in the zone, of the day that is so many days before. */
function midnightBefore(at: Date, days: number, timeZone: string): Date {
  const wall = new Date(at.getTime() + zoneOffset(timeZone, at.getTime()) - days * day_ms);
  return parseTimeOrDay(wall.toISOString().slice(0, 10), timeZone) as Date;
}
