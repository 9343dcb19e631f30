// The operator's bounds of settings that protect the people who are called.
import type { FieldError } from "../../../lib/errors.ts";
import type { AccountPatch, AccountResponse } from "../account-schema.ts";
import { dailySpan } from "./daily-span.ts";

type Window = { readonly calling_from: string; readonly calling_to: string };

/** Returns the violations of the operator's bounds in a change of the account. */
export function violationsOfBounds(account: AccountResponse, patch: AccountPatch): FieldError[] {
  const { calling_hours_allowed: hours } = account.calls;
  const { calling_from, calling_to, night_calling } = { ...account.calls, ...patch.calls };
  const violations: FieldError[] = [];
  const violation = (field: string, reason: string) => void violations.push({ field, reason });
  const isChanged = (field: "country_code" | "time_zone") =>
    patch[field] !== undefined && patch[field] !== account[field];
  const region = "can be changed by the operator only";
  if (account.region_locked && isChanged("country_code")) violation("country_code", region);
  // The hours are those of the time zone.
  if ((account.region_locked || hours !== null) && isChanged("time_zone"))
    violation("time_zone", region);
  if (hours === null) return violations;
  if (night_calling)
    violation("calls.night_calling", `must be false: the operator allows calls at ${hours}`);
  const inside = clampWindow(hours, { calling_from, calling_to });
  // A window that crosses midnight is never within hours that do not.
  const crosses = calling_from > calling_to;
  for (const field of ["calling_from", "calling_to"] as const)
    if (crosses || inside[field] !== { calling_from, calling_to }[field])
      violation(`calls.${field}`, `must be within the hours that the operator allows, ${hours}`);
  return violations;
}

/**
 * Returns the part of the window that is within the hours, the longer one if there are two. Equal times, which are
 * never, stay; a window without such a part becomes equal times.
 */
export function clampWindow(hours: string, { calling_from, calling_to }: Window): Window {
  if (calling_from === calling_to) return { calling_from, calling_to };
  const [first, last] = hours.split("-") as [string, string];
  const from = calling_from < first ? first : calling_from;
  const to = calling_to > last ? last : calling_to;
  // One that crosses midnight has a part before it and one after it.
  const parts =
    calling_from < calling_to
      ? [{ calling_from: from, calling_to: to }]
      : [
          { calling_from: from, calling_to: last },
          { calling_from: first, calling_to: to },
        ];
  const within = parts.filter((part) => part.calling_from < part.calling_to);
  const [longest] = within.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  return longest ?? { calling_from: first, calling_to: first };
}

function lengthOf({ calling_from, calling_to }: Window): number {
  return dailySpan("UTC", calling_from, calling_to).length_ms;
}
