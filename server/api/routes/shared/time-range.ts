// The query fields that restrict a list to a time range.
import Type from "typebox";
import { invalid, type FieldError } from "../../../lib/errors.ts";
import { parseTimeOrDay } from "../../../lib/parse-time.ts";

const time = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));

export const timeRangeQuery = {
  from: time(
    "Inclusive: a time, or the beginning of a day; without an offset, in the account's time zone",
  ),
  to: time("Exclusive: a time, or the beginning of a day"),
};

/** Reads the times of a request in the account's zone; 422 on each invalid time. */
export function readTimeRange(
  query: { from?: string; to?: string },
  timeZone: string,
): { from: Date | undefined; to: Date | undefined } {
  const violations: FieldError[] = [];
  const read = (field: "from" | "to") => {
    const text = query[field];
    const at = text === undefined ? undefined : parseTimeOrDay(text, timeZone);
    if (typeof at !== "string") return at;
    violations.push({ field, reason: at });
    return undefined;
  };
  const times = { from: read("from"), to: read("to") };
  if (violations.length > 0) throw invalid(violations);
  return times;
}

/** Returns the time this many minutes before `now`. */
export function minutesBefore(now: Date, minutes: number): Date {
  return new Date(now.getTime() - minutes * 60_000);
}
