// The canonical key of a phone number, for countries whose numbers WhatsApp and carriers spell in two ways.
// migrations/functions/phone_key.sql and phone_spellings.sql hold the same rules for SQL.

/** A Brazilian mobile number from before the ninth digit. Landlines begin with 2 to 5 and never got one. */
const brazil_short = /^55[1-9][1-9][6-9][0-9]{7}$/;
const brazil_long = /^55[1-9][1-9]9[6-9][0-9]{7}$/;
/** The 1 that calls to Mexican mobiles needed until 2019, and that carriers refuse since 2020. */
const mexico_long = /^521[0-9]{10}$/;
const mexico_short = /^52[0-9]{10}$/;
/** The 9 of Argentine mobiles in international calls. */
const argentina_long = /^549[0-9]{10}$/;
const argentina_short = /^54[0-9]{10}$/;

/**
 * Returns the canonical form of a number's spellings, by which people are matched: suppressions,
 * duplicates, replies. Takes and returns E.164 digits. A message goes to the number as given, a call to dialedPhone.
 */
export function phoneKey(phone: string): string {
  if (!phone.startsWith("5")) return phone;
  if (brazil_short.test(phone)) return `${phone.slice(0, 4)}9${phone.slice(4)}`;
  if (mexico_long.test(phone)) return dialedPhone(phone);
  if (argentina_long.test(phone)) return `54${phone.slice(3)}`;
  return phone;
}

/** Returns the digits by which a number (E.164 digits) is called: without the former 1 of Mexican mobiles. */
export function dialedPhone(phone: string): string {
  return mexico_long.test(phone) ? `52${phone.slice(3)}` : phone;
}

/** Returns every spelling (E.164 digits) that has the number's key, the key first. */
export function phoneSpellings(phone: string): string[] {
  const key = phoneKey(phone);
  if (brazil_long.test(key)) return [key, key.slice(0, 4) + key.slice(5)];
  if (mexico_short.test(key)) return [key, `521${key.slice(2)}`];
  if (argentina_short.test(key)) return [key, `549${key.slice(2)}`];
  return [key];
}
