/** A number in the page's address, which the router reads as a number or a text. */
export function readPhoneSearch({ phone_number }: Record<string, unknown>): {
  phone_number?: string;
} {
  const is_phone = typeof phone_number === "string" || typeof phone_number === "number";
  return is_phone ? { phone_number: String(phone_number) } : {};
}
