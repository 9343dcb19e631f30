import type { Caller } from "../../../accounts/caller.ts";
import type { App } from "../../../engine/app.ts";
import { namesOfPhones } from "../../../people/names-of-phones.ts";

type Named = { readonly contact_name: string | null };

/**
 * Adds the name of each row's contact, as far as the caller may see contacts. `phoneOf` returns E.164 digits, or null
 * where they are unknown.
 */
export async function withContactNames<Row extends object>(
  { db }: Pick<App, "db">,
  caller: Caller,
  rows: readonly Row[],
  phoneOf: (row: Row) => string | null,
): Promise<(Row & Named)[]> {
  const phones = rows.map(phoneOf).filter((phone) => phone !== null);
  const names = await namesOfPhones(db.query, caller, phones);
  return rows.map((row) => ({ ...row, contact_name: names.get(phoneOf(row) ?? "") ?? null }));
}
