import { tenDigits } from "../lib/phone-numbers.ts";

const extension = /^[0-9]{2,6}$/;

/** Whether a number that somebody answers for the account at is an extension; else it is a phone. */
export function isExtension(number: string): boolean {
  return extension.test(number);
}

/** The one form of a number that somebody answers at: an extension as it is, a phone as E.164 digits. */
export function agentNumber(text: string, countryCode: string): string {
  if (isExtension(text)) return text;
  const national = tenDigits(text, countryCode);
  return national === null ? text.replaceAll(/[^0-9]/g, "") : countryCode + national;
}
