import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { readAgentNumber } from "./agent-group-schema.ts";

/** Returns the numbers at which a user is an agent, as agent legs store them: own extensions first, then the phone. */
export async function findAgentNumbers(
  db: Kysely<DB>,
  account: { readonly id: number; readonly country_code: string },
  user: { readonly id: number; readonly extension: string | null; readonly phone: string | null },
): Promise<string[]> {
  const rows = await db
    .selectFrom("extensions")
    .select("extension")
    .where("account_id", "=", account.id)
    .where("user_id", "=", user.id)
    .orderBy("extension")
    .execute();
  const phone = user.phone === null ? null : readAgentNumber(user.phone, account.country_code);
  const numbers = [user.extension, ...rows.map(({ extension }) => extension), phone];
  return [...new Set(numbers.filter((number) => number !== null))];
}
