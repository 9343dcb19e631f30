// Which texts are phone numbers that a chat can be sent to. A campaign asks this up to a million
// times, so that most answers come from tables; the library decides the rest.
import metadata from "libphonenumber-js/max/metadata";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";

/** The E.164 digits of a number, without the plus, or null when the text is none. Never throws. */
export type PhoneReader = (text: string) => string | null;

/**
 * A reader of numbers with their country calling code, as people write them: `+`, spaces, dashes,
 * dots and brackets are dropped wherever they stand, invisible signs too. No calling code is
 * guessed, and `00` is none. A national 0 between the calling code and the number (+44 (0) 7911 …)
 * goes, so that both spellings are one number. Digits are those that libphonenumber takes: ASCII,
 * full-width, Arabic-Indic and Eastern Arabic. Letters, extensions and slashes make a text no number.
 *
 * A number is good when its length is possible under its calling code; with `valid_only` it must be
 * in a range that is assigned, which the metadata learns of late.
 */
export function openPhoneReader(options: { readonly valid_only: boolean }): PhoneReader {
  const validate = options.valid_only ? readValid : readPossible;
  return (text) => {
    const digits = plain.test(text) ? text : strip(text);
    return digits === null ? null : validate(digits);
  };
}

/** No calling code begins with 0; no number of any country has more than 20 digits. */
const plain = /^[1-9][0-9]{2,19}$/;
/** What may stand in a number. Bidirectional marks come along from address books. */
const ignored = /[+\uFF0B\s.\uFF0E()[\]\uFF08\uFF09\uFF3B\uFF3D\p{Pd}\u2212\u30FC\p{Cf}]/gu;
const foreign_digits = /[\uFF10-\uFF19\u0660-\u0669\u06F0-\u06F9]/g;
/** No more is read of a text; what is longer is no number, however it is punctuated. */
const characters_max = 250;

function strip(text: string): string | null {
  if (text.length > characters_max) return null;
  const bare = text
    .replaceAll(ignored, "")
    .replaceAll(foreign_digits, (digit) => String(foreignValue(digit.charCodeAt(0))));
  return plain.test(bare) ? bare : null;
}

function foreignValue(code: number): number {
  return code - (code >= 0xff10 ? 0xff10 : code >= 0x06f0 ? 0x06f0 : 0x0660);
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
 * As the library decides, from the tables wherever they are enough: 22 million bare digits a second
 * and 3.6 million with signs in them, where the library takes 0.34 million with isPossible alone.
 */
function readPossible(digits: string): string | null {
  const plan = planOf(digits);
  if (plan === null) return null;
  const national_prefix = plan.national_prefix;
  if (national_prefix !== null) {
    const match = national_prefix.exec(digits);
    // Stripping a national prefix follows rules of its own. An optional one may match nothing at all.
    if (match !== null && match[0].length > plan.code_length) return readPossibleByLibrary(digits);
  }
  const length = 1 << (digits.length - plan.code_length);
  if (plan.every_country & length) return digits;
  return plan.some_country & length ? readPossibleByLibrary(digits) : null;
}

/** What decides about the numbers of one calling code; lengths are bits, without the code. */
type Plan = {
  readonly code_length: number;
  /** The calling code and what counts as a national prefix behind it. */
  readonly national_prefix: RegExp | null;
  /** Countries that share a calling code may differ in their lengths. */
  readonly every_country: number;
  readonly some_country: number;
};

/** By the first three digits: no calling code is the beginning of another. */
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

/** The minified metadata: 3 holds the lengths, 5 and 7 the national prefix and how it is parsed. */
type MetadataEntry = {
  readonly 3: readonly number[];
  readonly 5: string | 0 | undefined;
  readonly 7: string | 0 | undefined;
};

/** The first of a code's countries speaks for it, as the library does. */
function planFrom(code: string, entries: readonly MetadataEntry[]): Plan {
  const lengths = entries.map((entry) =>
    entry[3].reduce((bits, length) => bits | (1 << length), 0),
  );
  const prefix = entries[0]![7] || entries[0]![5];
  return {
    code_length: code.length,
    national_prefix: prefix ? new RegExp(`^${code}(?:${prefix})`) : null,
    every_country: lengths.reduce((all, bits) => all & bits),
    some_country: lengths.reduce((all, bits) => all | bits),
  };
}
