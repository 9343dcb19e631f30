import type { Tx } from "../../../lib/database/database.ts";
import { Refusal, notFound } from "../../../lib/errors.ts";
import { number_columns, type ChatNumberRow } from "../chat-number-schema.ts";

/**
 * Locks and returns the number. Campaign creation locks the row for key share, so no campaign appears
 * while this lock is held. Errors: not-found.
 */
export async function lockChatNumber(
  tx: Tx,
  accountId: number,
  numberId: number,
  against: "changes" | "campaigns",
): Promise<ChatNumberRow> {
  const number = tx
    .selectFrom("chat_numbers")
    .select(number_columns)
    .where("account_id", "=", accountId)
    .where("id", "=", numberId);
  const locked = against === "campaigns" ? number.forUpdate() : number.forNoKeyUpdate();
  const row = await locked.executeTakeFirst();
  if (!row) throw notFound();
  return row;
}

/** Throws a conflict while the number has unfinished campaigns. */
export async function refuseUnfinished(tx: Tx, accountId: number, numberId: number): Promise<void> {
  const campaign = await tx
    .selectFrom("chat_campaigns")
    .select("id")
    .where("account_id", "=", accountId)
    .where("chat_number_id", "=", numberId)
    .where("finished_at", "is", null)
    .limit(1)
    .executeTakeFirst();
  if (campaign) {
    throw new Refusal(
      "conflict",
      "Campaigns of this number are scheduled or running; let them end or cancel them first",
    );
  }
}
