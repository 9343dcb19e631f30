// The time zones in which a phone number's owner may be, from libphonenumber's metadata (phone-time-zones.txt).
import { readFileSync } from "node:fs";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { phoneKey } from "../phone-key.ts";

/** Zones joined by `&`, by prefix (E.164 digits). The prefixes of up to three digits are the calling codes. */
const zones_by_prefix = readZones();
const prefix_digits_max = Math.max(...[...zones_by_prefix.keys()].map(({ length }) => length));

/** Calling codes with several zones, whose numbers need more than their calling code. */
const divided = new Set(
  [...zones_by_prefix]
    .filter(([prefix, zones]) => prefix !== callingCode(prefix) && zones !== zonesOfCode(prefix))
    .map(([prefix]) => callingCode(prefix)),
);

/** Calling codes whose mobile numbers have area codes: Mexico and Brazil. Those of +1 look like landlines. */
const mobiles_with_area = new Set(["52", "55"]);

/**
 * Returns the candidate zones (IANA names joined by `&`) of a number in E.164 digits; "" if its calling code has
 * none, such as satellite phones. Where a country spans several zones and the number does not name an area, as
 * most mobile numbers do not, all zones of the country are candidates: libphonenumber's own guess for them is
 * only the most populous one.
 */
export function phoneTimeZones(as_given: string): string {
  const phone = phoneKey(as_given);
  const code = callingCode(phone);
  if (code === null) return "";
  const of_code = zones_by_prefix.get(code)!;
  if (!divided.has(code) || !namesArea(phone, code)) return of_code;
  for (let digits = prefix_digits_max; digits > code.length; digits--) {
    const zones = zones_by_prefix.get(phone.slice(0, digits));
    if (zones !== undefined) return zones;
  }
  return of_code;
}

/** Returns the zones of a list joined by `&`. */
export function splitTimeZones(zones: string): string[] {
  return zones === "" ? [] : zones.split("&");
}

function namesArea(phone: string, code: string): boolean {
  // Saves the library's 12 µs: its other numbers, such as toll-free ones, have no prefix in the metadata.
  if (code === "1") return true;
  const type = parsePhoneNumberFromString(`+${phone}`)?.getType();
  const isMobile = type === "MOBILE";
  return (
    type === "FIXED_LINE" ||
    type === "FIXED_LINE_OR_MOBILE" ||
    (isMobile && mobiles_with_area.has(code))
  );
}

/** Returns the number's calling code, if it has zones; no calling code is a prefix of another. */
function callingCode(phone: string): string | null {
  for (let digits = 1; digits <= 3; digits++)
    if (zones_by_prefix.has(phone.slice(0, digits))) return phone.slice(0, digits);
  return null;
}

function zonesOfCode(phone: string): string | undefined {
  return zones_by_prefix.get(callingCode(phone)!);
}

function readZones(): ReadonlyMap<string, string> {
  const text = readFileSync(new URL("phone-time-zones.txt", import.meta.url), "utf8");
  const zones_of = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [zones, prefixes] = line.split(" ");
    for (const prefix of prefixes!.split(",")) zones_of.set(prefix, zones!);
  }
  return zones_of;
}
