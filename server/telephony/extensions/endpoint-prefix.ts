// All accounts share the nodes' PJSIP endpoints; a prefix identifies the account of each phone.
import type { Caller } from "../../accounts/caller.ts";

/** The prefix of accounts' phones; trunk endpoints must not begin with it. */
export const account_prefix = /^a[0-9]+-/;

/** Returns the prefix of the account's endpoints; empty for an operator, who may use any endpoint. */
export function endpointPrefix({
  id,
  features,
}: Pick<Caller["account"], "id" | "features">): string {
  return features.has("operator") ? "" : `a${id}-`;
}
