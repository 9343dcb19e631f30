import type { FieldError } from "../lib/errors.ts";
import { isTimeZone } from "../lib/parse-time.ts";

/** What a schema cannot see of an account's settings. The body may have any shape. */
export function judgeAccount(body: unknown): FieldError[] {
  const zone = (body as { time_zone?: unknown } | null | undefined)?.time_zone;
  return typeof zone === "string" && !isTimeZone(zone)
    ? [{ field: "time_zone", reason: "must be an IANA time zone such as Asia/Kolkata" }]
    : [];
}
