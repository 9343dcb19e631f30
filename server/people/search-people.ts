// Searches for people by number, name or email, for a command palette: few answers at a bounded cost.
import type { Caller } from "../accounts/caller.ts";
import { readPersonPhone } from "../audience/intake/read-person-phone.ts";
import type { App } from "../engine/app.ts";
import { callingCodeOf } from "../lib/chat-phone-numbers.ts";
import { searches } from "../lib/database/searches.ts";
import { phoneKey, phoneSpellings } from "../lib/phone-key.ts";
import { compactPhone, isZeroPrefix } from "../lib/phone-numbers.ts";
import {
  describePeople,
  findByLastDigits,
  findByPrefix,
  findByText,
  people_max,
  type PersonRow,
  type Prefix,
} from "./internal/search-statements.ts";
import { visibleParts, type Part } from "./people-access.ts";
import { found_in, type FoundIn, type PersonFound } from "./person-schema.ts";

/** Fewer last digits would match at random. */
const last_digits_min = 4;

const part_of: Readonly<Record<FoundIn, Part>> = {
  leads: "leads",
  contacts: "leads",
  messages: "messages",
  replies: "messages",
  calls: "calls",
  suppressions: "suppressions",
  groups: "groups",
};

/** Returns at most ten people, each number once however it is spelled, from what the caller may see. */
export async function searchPeople(
  app: Pick<App, "db">,
  caller: Pick<Caller, "account" | "permissions">,
  q: string,
): Promise<PersonFound[]> {
  const visible = visibleParts(caller);
  const { id, country_code } = caller.account;
  const db = app.db.query;
  return searches.use(id, async () => {
    const found: string[] = [];
    let pattern: string | null = null;
    const compact = compactPhone(q);
    if (/^\+?\d+$/.test(compact)) {
      const add = async (prefixes: readonly Prefix[]) => {
        for (const prefix of prefixes) found.push(...(await findByPrefix(db, id, visible, prefix)));
      };
      const { likely, unlikely } = prefixesOf(compact, country_code);
      await add(likely);
      if (!compact.startsWith("+") && compact.length >= last_digits_min)
        found.push(...(await findByLastDigits(db, id, visible, compact)));
      await add(unlikely);
    } else if (q.trim() !== "") {
      pattern = `%${q.trim().replaceAll(/[\\%_]/g, "\\$&")}%`;
      found.push(...(await findByText(db, id, visible, pattern)));
    }
    const by_key = new Map(found.filter(Boolean).map((phone) => [phoneKey(phone), phone]));
    const phones = [...by_key.values()].slice(0, people_max);
    const rows = await describePeople(db, id, phones, pattern);
    const known = new Map(rows.map((row) => [row.phone, row]));
    return phones.map((phone) => personOf(known.get(phone)!, visible));
  });
}

/**
 * Returns the E.164 prefixes that a compacted text may be: with a plus or 00, with the country code as it is; otherwise also
 * national digits of the account's country. A leading 0 may be a digit of the number or be dialed before it; after a
 * calling code, only in some countries. A whole number is what the intakes read, with 00 as with a plus, in all its
 * spellings.
 * `unlikely`: digits like the country code and a 0, which are rather the end of a number.
 */
function prefixesOf(compact: string, countryCode: string) {
  const international = /^(?:\+|00)(\d+)$/.exec(compact)?.[1];
  const whole = readPersonPhone(international ? `+${international}` : compact, countryCode);
  const given = international ? [international] : [countryCode + compact, compact];
  const code = (international && callingCodeOf(international)) || countryCode;
  const isDialed = international ? isZeroPrefix(code) : compact.startsWith("0");
  const dialed = isDialed ? withoutZero(given[0]!, code) : [];
  // The intakes read ten digits as they are.
  const isEnd = !international && isZeroPrefix(countryCode) && compact.length !== 10;
  return {
    likely: toPrefixes([...(whole === null ? [] : [whole]), ...given, ...dialed], countryCode),
    unlikely: isEnd ? toPrefixes(withoutZero(compact, countryCode), countryCode) : [],
  };
}

/** Returns the digits without a 0 between the country code and others; none if they have no such 0. */
function withoutZero(digits: string, countryCode: string): string[] {
  const with_zero = `${countryCode}0`;
  if (!digits.startsWith(with_zero) || digits === with_zero) return [];
  return [countryCode + digits.slice(with_zero.length)];
}

function toPrefixes(all: readonly string[], countryCode: string): Prefix[] {
  return [...new Set(all.flatMap(phoneSpellings))]
    .filter((each) => each.length <= 15)
    .map((each) => ({
      digits: each,
      national: each.startsWith(countryCode) ? each.slice(countryCode.length) : null,
    }));
}

function personOf(row: PersonRow, visible: ReadonlySet<Part>): PersonFound {
  const crm = visible.has("leads");
  const is_in = (place: FoundIn) => (place === "leads" ? row.leads > 0 : row[`in_${place}`]);
  const member_name = visible.has("groups") ? row.member_name : null;
  return {
    phone_number: row.phone,
    name: (crm ? (row.lead_name ?? row.contact_name) : null) ?? member_name,
    email: crm ? (row.lead_email ?? row.contact_email) : null,
    leads: crm ? row.leads : 0,
    found_in: found_in.filter((place) => visible.has(part_of[place]) && is_in(place)),
  };
}
