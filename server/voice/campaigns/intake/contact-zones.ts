import { sql, type Kysely, type RawBuilder } from "kysely";
import type { DB } from "../../../lib/database/database.ts";
import { phoneSpellings } from "../../../lib/phone-key.ts";

type ContactZones = { readonly phone_key: string; readonly time_zones: string };

const statement_phones_max = 10_000;

/**
 * Selects the zones of the account's contacts that have one, joined by `&`, by phone key. With `phones` (E.164 digits),
 * only of contacts with one of these in any spelling, which the index contacts_by_time_zone finds.
 */
export function contactZones(
  accountId: number,
  phones: readonly string[] | null,
): RawBuilder<ContactZones> {
  const written = phones?.flatMap(phoneSpellings).map((spelling) => `+${spelling}`);
  const among = written ? sql`and phone_e164 = any(${written}::text[])` : sql``;
  return sql`
    select phone_key(substr(phone_e164, 2)) as phone_key,
      string_agg(distinct time_zone, '&' order by time_zone) as time_zones
    from contacts where account_id = ${accountId} and time_zone is not null ${among}
    group by 1`;
}

/** Returns the zones of contacts by phone key, of those among the phones (E.164 digits) that are contacts with a zone. */
export async function findContactZones(
  db: Kysely<DB>,
  accountId: number,
  phones: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (let at = 0; at < phones.length; at += statement_phones_max) {
    const some = phones.slice(at, at + statement_phones_max);
    const { rows } = await contactZones(accountId, some).execute(db);
    for (const { phone_key, time_zones } of rows) found.set(phone_key, time_zones);
  }
  return found;
}
