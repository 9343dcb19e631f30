// Where a phone number leads: its country, and whether it is of a kind that must never be called.
import { parsePhoneNumberFromString, type PhoneNumberType } from "libphonenumber-js/max";
import metadata from "libphonenumber-js/max/metadata";
import { dialedPhone } from "../phone-key.ts";

/** Why a number may never be called. */
export type BarredKind =
  | "premium_rate"
  | "satellite"
  | "international_network"
  | "unassigned"
  | "short_code";

export type Destination = {
  /** ISO 3166-1 alpha-2; null: it belongs to no country. */
  readonly country: string | null;
  readonly barred: BarredKind | null;
};

/** Stands for every country. */
export const every_destination = "*";

/** Types that charge the caller more than a call and share it with the called party. */
const premium_types: ReadonlySet<PhoneNumberType> = new Set<PhoneNumberType>([
  "PREMIUM_RATE",
  "SHARED_COST",
  "PERSONAL_NUMBER",
  "PAGER",
]);

/** Codes of no country: all but 800 (international toll-free) are for satellites, networks and premium services. */
const barred_codes: Readonly<Record<string, BarredKind>> = {
  "808": "premium_rate",
  "870": "satellite",
  "878": "premium_rate",
  "881": "satellite",
  "882": "international_network",
  "883": "international_network",
  "888": "international_network",
  "979": "premium_rate",
};

/** Whole ranges for premium services, of which the metadata lists only the assigned part. */
const premium_ranges = /^1900/;

/** The shortest number with its calling code; a valid one may be shorter. */
const digits_min = 7;

/**
 * Returns the destination of a call to a number in E.164 digits. A number that its numbering plan does not list has the
 * country of its calling code. One with more digits than its plan allows is barred if it begins with a barred
 * number, because switches ignore the rest. Takes 60 µs.
 */
export function destinationOf(as_given: string): Destination {
  const phone = dialedPhone(as_given);
  const code = callingCode(phone);
  if (code === null) return { country: null, barred: "unassigned" };
  const parsed = parsePhoneNumberFromString(`+${phone}`);
  const country = parsed?.country ?? metadata.country_calling_codes[code]?.[0] ?? null;
  return { country, barred: barredKind(phone, code, parsed?.getType()) };
}

function barredKind(
  phone: string,
  code: string,
  type: PhoneNumberType | undefined,
): BarredKind | null {
  if (Object.hasOwn(barred_codes, code)) return barred_codes[code]!;
  if (premium_ranges.test(phone)) return "premium_rate";
  if (type !== undefined) return premium_types.has(type) ? "premium_rate" : null;
  if (phone.length < digits_min) return "short_code";
  return beginsWithPremium(phone, code) ? "premium_rate" : null;
}

function beginsWithPremium(phone: string, code: string): boolean {
  for (let length = phone.length - 1; length > code.length + 2; length--) {
    const type = parsePhoneNumberFromString(`+${phone.slice(0, length)}`)?.getType();
    if (type !== undefined) return premium_types.has(type);
  }
  return false;
}

function callingCode(phone: string): string | null {
  for (const length of [1, 2, 3]) {
    const code = phone.slice(0, length);
    if (Object.hasOwn(metadata.country_calling_codes, code)) return code;
    if (Object.hasOwn(metadata.nonGeographic, code)) return code;
  }
  return null;
}

/**
 * Returns the countries that an account with this calling code calls by default: its main country, and for 1 the
 * USA and Canada, which share their tariffs, but not the other countries of the plan.
 */
export function homeCountries(countryCode: string): readonly string[] {
  if (countryCode === "1") return ["US", "CA"];
  return metadata.country_calling_codes[countryCode]?.slice(0, 1) ?? [];
}

/** Reports whether this is `*` or a country (ISO 3166-1 alpha-2) with phone numbers. */
export function isDestination(text: string): boolean {
  return text === every_destination || Object.hasOwn(metadata.countries, text);
}

/** Reports whether a list of countries, or `*`, has the country. */
export function hasDestination(list: readonly string[], country: string | null): boolean {
  return list.includes(every_destination) || (country !== null && list.includes(country));
}

/** Reports whether a national number begins with the country's prefix of international calls, such as 00. */
export function beginsWithExitCode(national: string, countryCode: string): boolean {
  const country = metadata.country_calling_codes[countryCode]?.[0];
  const entry = country && (metadata.countries[country] as unknown as readonly unknown[]);
  return !!entry && new RegExp(`^(?:${String(entry[1])})`).test(national);
}
