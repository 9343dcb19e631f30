// The query fields that narrow a list to a time.
import Type from "typebox";
import { invalid, type FieldError } from "../lib/errors.ts";
import { parseTimeOrDay } from "../lib/parse-time.ts";

const time = (description: string) => Type.Optional(Type.String({ maxLength: 64, description }));

export const timeRangeQuery = {
  from: time(
    "From this time on, or from the beginning of a day; without an offset it is local to the account's zone",
  ),
  to: time("Before this time, or before the beginning of a day"),
};

/** The times of a request, read in the account's zone; 422 on each that is none. */
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
