/** Ten-digit fields of the contract: phone, to_number, cli_number, voice numbers. */
export const ten_digits = "^[0-9]{10}$";

/** The E.164 form (`+919876543210`) of a ten-digit number in an account's country. */
export function e164(phone: string, countryCode: string): string {
  return `+${countryCode}${phone}`;
}

/**
 * The ten digits of a number as people write it in a CSV: spaces, dashes, dots and brackets are
 * dropped; `+` and the country code, `00` and the country code, the country code alone, or a
 * leading 0 may come first. Null for anything else.
 */
export function tenDigits(text: string, countryCode: string): string | null {
  const compact = text.replaceAll(/[\s().-]/g, "");
  if (/^[0-9]{10}$/.test(compact)) return compact;
  const local = new RegExp(`^(?:\\+|00)?${countryCode}([0-9]{10})$`).exec(compact);
  return local?.[1] ?? /^0([0-9]{10})$/.exec(compact)?.[1] ?? null;
}
