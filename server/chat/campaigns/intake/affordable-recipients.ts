import { sql, type Kysely } from "kysely";
import type { IntakeCounts } from "../../../audience/intake/open-intake.ts";
import type { RecipientSource } from "../../../audience/recipients/recipient-source.ts";
import { availableCredits } from "../../../credits/credits.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";

/**
 * Returns how many recipients the account could pay for even if its suppressions remove as many as
 * possible, counted up to `most`. Takes no lock: it only avoids writing what would be rolled back.
 */
export async function affordableRecipients(
  db: Kysely<DB>,
  accountId: number,
  most: number,
  now: Date,
): Promise<number> {
  const available = await availableCredits(db, accountId, "chat");
  if (available >= most) return available;
  const suppressed = await suppressedCount(db, accountId, most - available, now);
  if (suppressed === 0 || available + suppressed >= most) return available + suppressed;
  // A suppression also removes the recipients whose alias it names.
  return available + suppressed + (await aliasCount(db, accountId, most - available - suppressed));
}

/** Returns the error for insufficient credit. */
export function insufficientCredit(): Refusal {
  return new Refusal(
    "insufficient-credit",
    "There is not enough chat credit for so many recipients",
  );
}

/** Returns how many recipients remain if every BSUID belongs to another recipient. */
export function recipientsMin({ valid, bsuids }: Pick<IntakeCounts, "valid" | "bsuids">): number {
  return Math.max(valid - bsuids, Math.min(bsuids, 1));
}

/**
 * Throws insufficient-credit as soon as there are more recipients than the account could pay for. A
 * file is read to its end first, because malformed CSV is reported before credit.
 */
export function withinCredit<R>(
  source: RecipientSource<R>,
  affordable: number,
  { is_file }: { readonly is_file: boolean },
): RecipientSource<R> {
  const { readFew } = source;
  const exceeds = (counts: IntakeCounts) => recipientsMin(counts) > affordable;
  return {
    ...source,
    readFew:
      readFew &&
      (async () => {
        const few = await readFew();
        if (few !== null && exceeds(few)) throw insufficientCredit();
        return few;
      }),
    async *lines(prefix) {
      for await (const chunk of source.lines(prefix)) {
        if (!exceeds(source.counts())) yield chunk;
        else if (!is_file) break;
      }
      if (exceeds(source.counts())) throw insufficientCredit();
    },
  };
}

/** Returns the number of suppressions of any scope, counted up to `most`. */
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

/** Returns the number of aliases of phones, counted up to `most`. */
export async function aliasCount(db: Kysely<DB>, accountId: number, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from phone_aliases where account_id = ${accountId} limit ${most}) a`.execute(db);
  return rows[0]!.count;
}
