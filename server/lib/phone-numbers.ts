import { phoneSpellings } from "./phone-key.ts";

/** Pattern of the contract's ten-digit fields: phone, to_number, cli_number, voice numbers. */
export const ten_digits = "^[0-9]{10}$";

/** Returns the E.164 form (`+919876543210`) of a ten-digit number in an account's country. */
export function e164(phone: string, countryCode: string): string {
  return `+${countryCode}${phone}`;
}

/** Characters that a number may contain between its digits. Contact lists add bidirectional marks. */
const ignored = /[\s.\uFF0E()[\]\uFF08\uFF09\uFF3B\uFF3D\p{Pd}\u2212\u30FC\p{Cf}]/gu;
/** The fraction of a whole number that a spreadsheet or a program wrote as a decimal, as in `919876543210.0`. */
const zero_fraction = /^([+\s\p{Cf}]*\d[\d\p{Cf}]{6,})[.\uFF0E]0+(?=[\s\p{Cf}]*$)/u;
/** Full-width, Arabic-Indic and Eastern Arabic digits, each from 0 to 9. */
export const foreign_digits: string = [0xff10, 0x0660, 0x06f0]
  .flatMap((zero) => Array.from({ length: 10 }, (_, value) => String.fromCharCode(zero + value)))
  .join("");
const foreign_digit = new RegExp(`[${foreign_digits}]`, "g");

/**
 * Drops spaces, dashes, dots, brackets, invisible characters and the `.0` of a decimal, and returns full-width,
 * Arabic-Indic and Eastern Arabic digits and a full-width plus in ASCII.
 */
export function compactPhone(text: string): string {
  return text
    .replaceAll("\uFF0B", "+")
    .replaceAll(foreign_digit, (digit) => String(foreign_digits.indexOf(digit) % 10))
    .replace(zero_fraction, "$1")
    .replaceAll(ignored, "");
}

/**
 * Calling codes with ten-digit numbers where a 0 after the code is a digit of the number, as in Italy; elsewhere it is the
 * 0 that is dialed before a national number. A test compares this with libphonenumber, which the console does not load.
 */
const codes_with_zero: ReadonlySet<string> = new Set(
  "1 7 30 39 48 52 56 65 225 229 230 267 352 372 378 420 506 507 685 960".split(" "),
);

/** Returns whether a 0 after a calling code, as in `+44 (0) 7911 123456`, is a prefix and no digit of the number. */
export function isZeroPrefix(countryCode: string): boolean {
  return !codes_with_zero.has(countryCode);
}

/**
 * Returns the ten digits of a number as people write it in a CSV: what compactPhone drops, and a prefix: `+` or `00` and
 * the country code, the country code, or a 0, also after the country code. Without its prefix, a number has exactly ten
 * digits, and the first is not a 0 that isZeroPrefix. Null for anything else. Ten digits are returned as they are.
 */
export function tenDigits(text: string, countryCode: string): string | null {
  const compact = compactPhone(text);
  if (/^[0-9]{10}$/.test(compact)) return compact;
  const national = isZeroPrefix(countryCode) ? "0?([1-9][0-9]{9})" : "([0-9]{10})";
  const local = new RegExp(`^(?:\\+|00)?${countryCode}${national}$`).exec(compact);
  return local?.[1] ?? /^0([1-9][0-9]{9})$/.exec(compact)?.[1] ?? null;
}

/**
 * Returns the ten digits of a phone (E.164 digits) in a country, by the first of its spellings that has ten, as a
 * Brazilian mobile has only without the ninth digit; null if none has.
 */
export function tenDigitsOfPhone(phone: string, countryCode: string): string | null {
  const length = countryCode.length + 10;
  const isNational = (each: string) => each.length === length && each.startsWith(countryCode);
  return phoneSpellings(phone).find(isNational)?.slice(countryCode.length) ?? null;
}

/**
 * Returns the E.164 digits of a number that is written without `+`, as ten digits of an account's country; null for
 * anything else. This holds even if they begin with another country's calling code: its numbers need the `+`.
 */
export function nationalPhone(text: string, countryCode: string): string | null {
  const local = /[+\uFF0B]/.test(text) ? null : tenDigits(text, countryCode);
  return local === null ? null : countryCode + local;
}
