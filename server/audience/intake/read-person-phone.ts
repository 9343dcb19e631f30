import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import {
  compactPhone,
  isZeroPrefix,
  nationalPhone,
  tenDigits,
  tenDigitsOfPhone,
} from "../../lib/phone-numbers.ts";

const readInternational = openPhoneReader({ valid_only: false });

/**
 * Returns the E.164 digits, without the plus, of a number in a suppression or a group; null if it is not
 * valid. Without a `+`, ten digits are a national number of the account's country, also after its calling
 * code, `00` and the calling code, or a 0, so that chat and voice identify the same person. This holds
 * even if they begin with another country's calling code: its numbers need the `+`. Any other number
 * must include its calling code.
 */
export function readPersonPhone(text: string, countryCode: string): string | null {
  return (
    nationalPhone(text, countryCode) ?? readInternational(text) ?? readPrefixed(text, countryCode)
  );
}

/** Reads `00` and the account's calling code as `+`, and ten digits after it also if the library expects others. */
function readPrefixed(text: string, countryCode: string): string | null {
  const digits = tenDigits(text, countryCode);
  if (digits !== null) return countryCode + digits;
  const compact = compactPhone(text);
  return compact.startsWith(`00${countryCode}`) ? readInternational(compact.slice(2)) : null;
}

/**
 * Returns the E.164 digits, without the plus, of a number of the account's country in a file of leads or voice
 * recipients: what readPersonPhone reads, such as `+44 (0) 7911 123456` and `+54 9 11 2345 6789`, if it has ten digits
 * in one of its spellings. Null for anything else, also for a prefix and fewer than ten digits.
 */
export function readCountryPhone(text: string, countryCode: string): string | null {
  const phone = readPersonPhone(text, countryCode);
  const digits = phone === null ? null : tenDigitsOfPhone(phone, countryCode);
  if (digits === null) return null;
  const isShort = digits.startsWith("0") && isZeroPrefix(countryCode);
  return isShort && digits !== compactPhone(text) ? null : phone;
}

/** The reason for a phone number that is not valid. */
export const phone_reason = "must be a phone number: ten digits, or + and the country code";
