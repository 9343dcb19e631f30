// Recognizes phone numbers that chat messages can be sent to. A campaign checks up to a million, so tables
// answer most of them and libphonenumber the rest.
import metadata from "libphonenumber-js/max/metadata";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { phoneKey } from "./phone-key.ts";
import { compactPhone } from "./phone-numbers.ts";

/** Returns the E.164 digits of a number, without the plus, or null if the text is not a valid number. Never throws. */
export type PhoneReader = (text: string) => string | null;

/**
 * Opens a reader of numbers with their country calling code, as people write them. `+`, spaces, dashes, dots,
 * brackets and invisible characters are dropped anywhere, the `.0` of a decimal at the end. No calling code is
 * guessed, and `00` is not accepted. A national 0 after the calling code (+44 (0) 7911 …) is dropped, so both spellings are one number.
 * Accepts libphonenumber's digits: ASCII, full-width, Arabic-Indic and Eastern Arabic. Letters, extensions and
 * slashes are invalid.
 *
 * Older spellings of Brazilian and Mexican mobiles, which the library no longer knows, are accepted as they are.
 *
 * A number's length must be possible under its calling code; with `valid_only` it must be in an assigned
 * range, which the metadata learns with a delay.
 */
export function openPhoneReader(options: { readonly valid_only: boolean }): PhoneReader {
  const validate = options.valid_only ? readValid : readPossible;
  return (text) => {
    const digits = plain.test(text) ? text : strip(text);
    if (digits === null) return null;
    const read = validate(digits);
    if (read !== null) return read;
    const key = phoneKey(digits);
    return key !== digits && validate(key) !== null ? digits : null;
  };
}

/** No calling code starts with 0; no country's numbers have more than 20 digits. */
const plain = /^[1-9][0-9]{2,19}$/;
/** Longer text is not a valid number, whatever its punctuation. */
const characters_max = 250;

function strip(text: string): string | null {
  if (text.length > characters_max) return null;
  const bare = compactPhone(text).replaceAll("+", "");
  return plain.test(bare) ? bare : null;
}

function readValid(digits: string): string | null {
  const phone = parsePhoneNumberFromString(`+${digits}`);
  return phone?.isValid() ? phone.number.slice(1) : null;
}

function readPossibleByLibrary(digits: string): string | null {
  const phone = parsePhoneNumberFromString(`+${digits}`);
  return phone?.isPossible() ? phone.number.slice(1) : null;
}

/**
 * Decides like the library, from the tables where they suffice: 22 million bare numbers a second and 3.6 million
 * with punctuation; the library's isPossible handles 0.34 million.
 */
function readPossible(digits: string): string | null {
  const plan = planOf(digits);
  if (plan === null) return null;
  const national_prefix = plan.national_prefix;
  if (national_prefix !== null) {
    const match = national_prefix.exec(digits);
    // Stripping a national prefix has its own rules. An optional one may match the empty text.
    if (match !== null && match[0].length > plan.code_length) return readPossibleByLibrary(digits);
  }
  const length = 1 << (digits.length - plan.code_length);
  if (plan.every_country & length) return digits;
  return plan.some_country & length ? readPossibleByLibrary(digits) : null;
}

/**
 * Returns the digits of a number (E.164 digits) with its country's national prefix after the calling code, as in
 * `+44 (0) 7911 123456`; null if numbers of its country are not written so.
 */
export function withNationalPrefix(phone: string): string | null {
  const plan = planOf(phone);
  if (!plan?.written_prefix) return null;
  return phone.slice(0, plan.code_length) + plan.written_prefix + phone.slice(plan.code_length);
}

/** Returns the calling code with which a number or its start (E.164 digits) begins; null if no country has it. */
export function callingCodeOf(digits: string): string | null {
  const plan = planOf(digits);
  return plan && digits.slice(0, plan.code_length);
}

/** The rules of one calling code; lengths are bits, without the code. */
type Plan = {
  readonly code_length: number;
  /** Matches the calling code and its national prefix. */
  readonly national_prefix: RegExp | null;
  /** The digits of the prefix, such as 0. */
  readonly written_prefix: string | null;
  /** Lengths possible in all countries of the code, which may differ. */
  readonly every_country: number;
  readonly some_country: number;
};

/** By the first three digits: no calling code is a prefix of another. */
const plans: readonly (Plan | null)[] = readPlans();

function planOf(digits: string): Plan | null {
  const at = digits.charCodeAt(0) * 100 + digits.charCodeAt(1) * 10 + digits.charCodeAt(2);
  return plans[at - 48 * 111] ?? null;
}

function readPlans(): (Plan | null)[] {
  const found: (Plan | null)[] = Array.from({ length: 1_000 }, () => null);
  const add = (code: string, entries: readonly MetadataEntry[]) => {
    const plan = planFrom(code, entries);
    const span = 10 ** (3 - code.length);
    found.fill(plan, Number(code) * span, (Number(code) + 1) * span);
  };
  for (const [code, countries] of Object.entries(metadata.country_calling_codes)) {
    add(
      code,
      countries.map((country) => metadata.countries[country] as unknown as MetadataEntry),
    );
  }
  for (const [code, entry] of Object.entries(metadata.nonGeographic)) {
    add(code, [entry as unknown as MetadataEntry]);
  }
  return found;
}

/** An entry of the minified metadata: 3 holds the lengths, 5 and 7 the national prefix and its parsing. */
type MetadataEntry = {
  readonly 3: readonly number[];
  readonly 5: string | 0 | undefined;
  readonly 7: string | 0 | undefined;
};

/** Uses the first country of a code, as the library does. */
function planFrom(code: string, entries: readonly MetadataEntry[]): Plan {
  const lengths = entries.map((entry) =>
    entry[3].reduce((bits, length) => bits | (1 << length), 0),
  );
  const prefix = entries[0]![7] || entries[0]![5];
  return {
    code_length: code.length,
    written_prefix: entries[0]![5] || null,
    national_prefix: prefix ? new RegExp(`^${code}(?:${prefix})`) : null,
    every_country: lengths.reduce((all, bits) => all & bits),
    some_country: lengths.reduce((all, bits) => all | bits),
  };
}
