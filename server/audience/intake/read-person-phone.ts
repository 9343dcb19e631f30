import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import { tenDigits } from "../../lib/phone-numbers.ts";

const readInternational = openPhoneReader({ valid_only: false });

/**
 * The E.164 digits, without the plus, of a number as people write it in a suppression or a group, or
 * null when it is none. Without a `+`, ten digits are a local number of the account's country, with
 * or without its calling code, `00` and the calling code, or a 0 before them: chat and voice then
 * mean the same person. Ten digits that also begin with another country's calling code are local
 * all the same; that country's number needs its `+`. Everything else carries its calling code.
 */
export function readPersonPhone(text: string, countryCode: string): string | null {
  const local = /[+\uFF0B]/.test(text) ? null : tenDigits(text, countryCode);
  return local === null ? readInternational(text) : countryCode + local;
}

/** Why a text is no phone number, fit to follow a field's name. */
export const phone_reason = "must be a phone number: ten digits, or + and the country code";
