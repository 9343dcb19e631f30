import { phone_reason, readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import { invalidField } from "../../../lib/errors.ts";

/** Reads the number that a list is filtered by. An unescaped plus in a query arrives as a space. */
export function readPhoneQuery(text: string | undefined, countryCode: string): { phone?: string } {
  if (text === undefined) return {};
  const phone = readPersonPhone(text.replace(/^ /, "+"), countryCode);
  if (phone === null) throw invalidField("phone_number", phone_reason);
  return { phone };
}
