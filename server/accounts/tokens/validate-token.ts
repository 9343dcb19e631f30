import type { FieldError } from "../../lib/errors.ts";
import { validateNetwork } from "../../lib/addresses/address-list.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { addresses_max } from "./token-schema.ts";

/** Returns the violations that a schema cannot express. The body may have any shape. */
export function validateToken(body: unknown, timeZone: string, now: Date): FieldError[] {
  const token = (body ?? {}) as Readonly<Record<string, unknown>>;
  const violations: FieldError[] = [];
  const violation = (field: string, reason: string) => void violations.push({ field, reason });
  if (token["kind"] === "agent" && token["user_id"] == null)
    violation("user_id", "is required for an agent token");
  if (token["kind"] === "account" && token["user_id"] != null)
    violation("user_id", "must be omitted: an account token authenticates as the account's owner");
  const { expires_at, allowed_addresses } = token;
  if (typeof expires_at === "string") {
    const at = parseTime(expires_at, timeZone);
    if (typeof at === "string") violation("expires_at", at);
    else if (at <= now) violation("expires_at", "must be in the future");
  }
  const networks: unknown[] = Array.isArray(allowed_addresses) ? allowed_addresses : [];
  for (const [i, network] of networks.slice(0, addresses_max).entries()) {
    const reason = typeof network === "string" ? validateNetwork(network) : null;
    if (reason !== null) violation(`allowed_addresses.${i}`, reason);
  }
  return violations;
}
