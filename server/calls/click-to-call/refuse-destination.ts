import type { DestinationBlocker } from "../../accounts/accounts/call-destinations.ts";
import { Refusal } from "../../lib/errors.ts";

/** Throws forbidden, with the country and with the field if one is given, if the account may not call the country. */
export function refuseDestination(blocker: DestinationBlocker | null, field?: string): void {
  if (blocker?.reason !== "destination_not_allowed") return;
  const place = blocker.country ?? "international services";
  const reason = `This account may not call numbers of ${place}`;
  throw new Refusal("forbidden", reason, field ? { errors: [{ field, reason }] } : {});
}
