import type { FieldError } from "../../lib/errors.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { phone_reason, readPersonPhone } from "../intake/read-person-phone.ts";

/** The account settings that determine how numbers and times are parsed. */
export type Locale = { readonly country_code: string; readonly time_zone: string };

/** Validates a new suppression beyond the schema; the body may have any shape. */
export function validateSuppression(body: unknown, locale: Locale, now: Date): FieldError[] {
  const { phone_number, expires_at } = (body ?? {}) as Record<string, unknown>;
  const violations: FieldError[] = [];
  if (typeof phone_number === "string" && !readPersonPhone(phone_number, locale.country_code))
    violations.push({ field: "phone_number", reason: phone_reason });
  if (typeof expires_at === "string") {
    const reason = reasonAgainstExpiry(expires_at, locale.time_zone, now);
    if (reason !== null) violations.push({ field: "expires_at", reason });
  }
  return violations;
}

/** Returns why a text is not a valid expiry of a suppression, or null. */
export function reasonAgainstExpiry(text: string, timeZone: string, now: Date): string | null {
  const at = parseTime(text, timeZone);
  if (typeof at === "string") return at;
  return at > now ? null : "must be in the future";
}
