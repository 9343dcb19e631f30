import type { FieldError } from "../../lib/errors.ts";
import { parseTime } from "../../lib/parse-time.ts";

/** Returns the violations that a schema cannot express. The body may have any shape. */
export function validateToken(body: unknown, timeZone: string, now: Date): FieldError[] {
  const token = (body ?? {}) as { kind?: unknown; user_id?: unknown; expires_at?: unknown };
  const violations: FieldError[] = [];
  const violation = (field: string, reason: string) => void violations.push({ field, reason });
  if (token.kind === "agent" && token.user_id == null)
    violation("user_id", "is required for an agent token");
  if (token.kind === "account" && token.user_id != null)
    violation("user_id", "must be omitted: an account token authenticates as the account's owner");
  if (typeof token.expires_at === "string") {
    const at = parseTime(token.expires_at, timeZone);
    if (typeof at === "string") violation("expires_at", at);
    else if (at <= now) violation("expires_at", "must be in the future");
  }
  return violations;
}
