import { sql, type Kysely } from "kysely";
import { availableCredits } from "../../credits/credits.ts";
import type { DB } from "../../lib/database.ts";
import { Refusal } from "../../lib/errors.ts";

/**
 * Refuses insufficient-credit when the account could not pay for so many recipients whomever of them
 * its suppressions take out. Locks nothing: it only spares the writing of what would be undone.
 */
export async function refuseWithoutCredit(
  db: Kysely<DB>,
  accountId: number,
  recipients: number,
  now: Date,
): Promise<void> {
  const short = recipients - (await availableCredits(db, accountId, "chat"));
  if (short <= 0) return;
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from suppressions
      where account_id = ${accountId} and channel in ('all', 'chat')
        and (expires_at is null or expires_at > ${now})
      limit ${short}) s`.execute(db);
  if (rows[0]!.count < short)
    throw new Refusal("insufficient-credit", "There is not enough chat credit for the recipients");
}
