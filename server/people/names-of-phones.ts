// The names of people by their phone numbers, for a list of numbers.
import { sql, type Kysely } from "kysely";
import type { Caller } from "../accounts/caller.ts";
import type { DB } from "../lib/database/database.ts";
import { phoneSpellings } from "../lib/phone-key.ts";
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
  const spelled = [...new Set(phones)].flatMap((phone) =>
    phoneSpellings(phone).map((spelling) => ({ phone, spelling })),
  );
  const { rows } = await sql<{ phone: string; id: number; name: string }>`
    with active_workspaces as materialized (
      select w.id from workspaces w where w.account_id = ${accountId} and w.active)
    select p.phone, n.id, n.name
    from unnest(${spelled.map(({ phone }) => phone)}::text[], ${spelled.map(({ spelling }) => spelling)}::text[])
      p (phone, spelling)
    cross join lateral (
      select c.id, c.name from active_workspaces w
      join contacts c on c.account_id = ${accountId} and c.workspace_id = w.id
        and c.phone = right(p.spelling, 10) and c.phone_e164 = '+' || p.spelling
      order by c.id desc limit 1) n
    order by n.id`.execute(db);
  return new Map(rows.map(({ phone, name }) => [phone, name]));
}
