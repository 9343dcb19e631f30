// The names of people by their phone numbers, for a list of numbers.
import { sql, type Kysely } from "kysely";
import type { Caller } from "../accounts/caller.ts";
import type { DB } from "../lib/database/database.ts";
import { visibleParts } from "./people-access.ts";

/**
 * Returns the names of the contacts with these numbers (E.164 digits) in any spelling, the newest of each; none if the
 * caller may not see contacts.
 */
export async function namesOfPhones(
  db: Kysely<DB>,
  caller: Pick<Caller, "account" | "permissions">,
  phones: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (phones.length === 0 || !visibleParts(caller).has("leads")) return new Map();
  const accountId = caller.account.id;
  const { rows } = await sql<{ phone: string; name: string }>`
    with active_workspaces as materialized (
      select w.id from workspaces w where w.account_id = ${accountId} and w.active)
    select p.phone, n.name from unnest(${[...new Set(phones)]}::text[]) p (phone)
    cross join lateral (
      select c.name from unnest(phone_spellings(p.phone)) s (phone)
      cross join active_workspaces w
      join contacts c on c.account_id = ${accountId} and c.workspace_id = w.id
        and c.phone = right(s.phone, 10) and c.phone_e164 = '+' || s.phone
      order by c.id desc limit 1) n`.execute(db);
  return new Map(rows.map(({ phone, name }) => [phone, name]));
}
