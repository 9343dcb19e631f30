import {
  mayCallAt,
  mayCallCustomerAt,
  type CallingWindow,
} from "../../accounts/accounts/calling-window.ts";
import { Refusal } from "../../lib/errors.ts";

/** Throws forbidden, with the window and with the field if one is given, if the customer may not be called at that time. */
export function refuseOutsideWindow(
  window: CallingWindow,
  customer_zones: readonly string[],
  at: Date,
  field?: string,
): void {
  if (mayCallCustomerAt(window, customer_zones, at)) return;
  const [from, to] = [window.calling_from, window.calling_to].map((time) => time.slice(0, 5));
  const isOwn = !mayCallAt(window, at);
  const clock = isOwn ? window.time_zone : `the customer's time, ${customer_zones.join(" or ")}`;
  const reason =
    "Night calling is disabled for this account, and the call would be placed outside " +
    `its calling window, ${from} to ${to} (${clock})`;
  throw new Refusal("forbidden", reason, field ? { errors: [{ field, reason }] } : {});
}
