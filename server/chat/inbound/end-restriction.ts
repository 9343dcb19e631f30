// Ends the hold of a restriction by the provider: when it expires, or when the business account is reinstated.
import type { JobHandler } from "../../engine/work-jobs.ts";
import type { Tx } from "../../lib/database/database.ts";
import { liftHold } from "../holds/holds.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import { restriction_details } from "./failure-effects.ts";

/** The job chat.end_restriction of a number: lifts the hold when the last reported restriction has ended. */
export const endExpiredRestriction: JobHandler = async (app, { account_id, subject }) => {
  const now = app.clock.now();
  const chat_number_id = Number(subject);
  const { again_at, number_ids } = await app.db.query.transaction().execute(async (tx) => {
    // Locked: a webhook may report a longer restriction.
    const number = await tx
      .selectFrom("chat_numbers")
      .select("restricted_until")
      .where("account_id", "=", account_id)
      .where("id", "=", chat_number_id)
      .forNoKeyUpdate()
      .executeTakeFirst();
    const until = number?.restricted_until ?? null;
    if (until === null || until > now) return { again_at: until, number_ids: [] };
    const lifted = await endRestriction(tx, { account_id, chat_number_id }, now);
    return { again_at: null, number_ids: lifted };
  });
  if (again_at) return { again_at };
  wakeSenders(app, account_id, number_ids);
  return undefined;
};

/** Lifts the number's hold if a restriction or ban set it. Returns the numbers to notify after the commit. */
export async function endRestriction(
  tx: Tx,
  { account_id, chat_number_id }: { readonly account_id: number; readonly chat_number_id: number },
  now: Date,
): Promise<readonly number[]> {
  const held = {
    account_id,
    scope: "number",
    subject_id: chat_number_id,
    reason: "sender_restricted",
  } as const;
  const hold = await tx
    .selectFrom("chat_holds")
    .select("detail")
    .where("account_id", "=", account_id)
    .where("scope", "=", held.scope)
    .where("subject_id", "=", chat_number_id)
    .where("reason", "=", held.reason)
    .executeTakeFirst();
  const detail = hold?.detail ?? "";
  // The next message after a lift by hand sets the hold again, with a detail of its own.
  if (!detail.startsWith("account_update") && !restriction_details.includes(detail)) return [];
  return (await liftHold(tx, held, now)).number_ids;
}
