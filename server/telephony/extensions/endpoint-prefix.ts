// The nodes' PJSIP endpoints are one list for all accounts; a prefix tells whose phone each is.
import type { Caller } from "../../accounts/caller.ts";

/** What the endpoints of accounts' phones begin with, and so those of trunks must not. */
export const account_prefix = /^a[0-9]+-/;

/** What every endpoint of the account's phones begins with; empty for an operator's, which may name any. */
export function endpointPrefix({
  id,
  features,
}: Pick<Caller["account"], "id" | "features">): string {
  return features.has("operator") ? "" : `a${id}-`;
}
