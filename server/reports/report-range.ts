import { parseTimeOrDay, zoneOffset } from "../lib/parse-time.ts";
import { invalid, type FieldError } from "../lib/errors.ts";

const day_ms = 86_400_000;
const default_days = 30;
const days_max = 366;

/** The time range of a report: `from` inclusive, `to` exclusive. */
export type ReportRange = { readonly from: Date; readonly to: Date };

/**
 * Reads a report's time range. Times without an offset are local to the zone, and a day means its beginning.
 * `to` defaults to now, and `from` to the midnight that makes the range at most 30 days. Throws 422 by field:
 * an invalid time, a `to` that is not after `from`, more than 366 days.
 */
export function readReportRange(
  query: { readonly from?: string; readonly to?: string },
  timeZone: string,
  now: Date,
): ReportRange {
  const violations: FieldError[] = [];
  const read = (field: "from" | "to") => {
    const text = query[field];
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
  // Reports the field that was given.
  const field = given.to === undefined ? "from" : "to";
  if (days <= 0)
    throw invalid([
      { field, reason: field === "to" ? "must be after from" : "must be in the past" },
    ]);
  // A year may be an hour longer because of daylight saving time.
  if (days > days_max + 1 / 24)
    throw invalid([{ field: "from", reason: `must be at most ${days_max} days before the end` }]);
  return { from, to };
}

/** Returns the beginning, in the zone, of the day `days` days before `at`. */
export function midnightBefore(at: Date, days: number, timeZone: string): Date {
  const wall = new Date(at.getTime() + zoneOffset(timeZone, at.getTime()) - days * day_ms);
  return parseTimeOrDay(wall.toISOString().slice(0, 10), timeZone) as Date;
}
