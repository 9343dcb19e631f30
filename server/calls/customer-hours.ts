// When the customer of a call may be called: within the account's window by the account's clock and by the customer's.
import {
  customerCallableFrom,
  mayCallCustomerAt,
  type CallingWindow,
} from "../accounts/accounts/calling-window.ts";
import { statement } from "../lib/database/database.ts";
import { phoneTimeZones, splitTimeZones } from "../lib/phone-time-zones/phone-time-zones.ts";

/** What a customer's hours depend on. */
export type CustomerOfCall = {
  readonly to_phone: string;
  /** The zones of the account's contacts with this phone, in any spelling; they replace those of its prefix. */
  readonly contact_time_zones: readonly string[];
  readonly settings: CallingWindow;
};

/** An account's window and the zones of its contacts with a customer's phone. */
export type CustomerHours = CallingWindow & Pick<CustomerOfCall, "contact_time_zones">;

/**
 * An array of the zones of the account's contacts with a phone (E.164 digits) in any spelling, as an SQL expression.
 * By the spellings, because the index contacts_by_time_zone has the phone as given.
 */
export function contactTimeZones(account_id: string, phone: string): string {
  return `array(
    select distinct o.time_zone from contacts o
    where o.account_id = ${account_id} and o.time_zone is not null
      and o.phone_e164 = any (array(select '+' || s.phone from unnest(phone_spellings(${phone})) s (phone))))`;
}

/** Finds an account's window and the zones of its contacts with a phone (E.164 digits). */
export const findCustomerHours = statement<CustomerHours>(`
  select a.time_zone, a.night_calling, a.calling_from, a.calling_to,
    ${contactTimeZones("$1", "$2")} as contact_time_zones
  from accounts a where a.account_id = $1`);

/** Returns the zones that the customer may be in; empty if unknown. */
export function customerZones({
  to_phone,
  contact_time_zones,
}: Pick<CustomerOfCall, "to_phone" | "contact_time_zones">): readonly string[] {
  return contact_time_zones.length > 0
    ? contact_time_zones
    : splitTimeZones(phoneTimeZones(to_phone));
}

/** Reports whether the customer may be called at `at`. */
export function mayCallCustomer(call: CustomerOfCall, at: Date): boolean {
  return mayCallCustomerAt(call.settings, customerZones(call), at);
}

/** Returns the first instant from `at` on at which the customer may be called; null if there is none. */
export function customerDueFrom(call: CustomerOfCall, at: Date): Date | null {
  return customerCallableFrom(call.settings, customerZones(call), at);
}

/** Returns the call with these hours of its customer. */
export function withHours<Of extends CustomerOfCall>(
  call: Of,
  { contact_time_zones, ...window }: CustomerHours,
): Of {
  return { ...call, contact_time_zones, settings: { ...call.settings, ...window } };
}
