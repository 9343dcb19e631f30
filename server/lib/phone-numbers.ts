/** Ten-digit fields of the contract: phone, to_number, cli_number, voice numbers. */
export const ten_digits = "^[0-9]{10}$";

/** The E.164 form (`+919876543210`) of a ten-digit number in an account's country. */
export function e164(phone: string, countryCode: string): string {
  return `+${countryCode}${phone}`;
}
