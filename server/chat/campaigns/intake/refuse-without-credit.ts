import { sql, type Kysely } from "kysely";
import { availableCredits } from "../../../credits/credits.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import { recipients_max } from "./limits.ts";

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
  if ((await suppressedCount(db, accountId, short, now)) < short) throw insufficientCredit();
}

/** For recipients that are not counted yet: more than so many could not be paid for in any case. */
export async function affordableRecipients(
  db: Kysely<DB>,
  accountId: number,
  now: Date,
): Promise<number> {
  const available = await availableCredits(db, accountId, "chat");
  if (available >= recipients_max) return available;
  return available + (await suppressedCount(db, accountId, recipients_max, now));
}

/** What a campaign is refused with that cannot be paid for. */
export function insufficientCredit(): Refusal {
  return new Refusal(
    "insufficient-credit",
    "There is not enough chat credit for so many recipients",
  );
}

/** How many numbers the account must not write to, counted up to `most`. */
export async function suppressedCount(
  db: Kysely<DB>,
  accountId: number,
  most: number,
  now: Date,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from suppressions
      where account_id = ${accountId} and channel in ('all', 'chat')
        and (expires_at is null or expires_at > ${now})
      limit ${most}) s`.execute(db);
  return rows[0]!.count;
}
