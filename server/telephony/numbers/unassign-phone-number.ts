import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * Takes a phone number from its account, for operators: queued calls that name it end without being placed, and
 * campaigns that show it pause. Refuses: not-found.
 */
export async function unassignPhoneNumber(
  tx: Tx,
  actor: Actor,
  number: string,
  now: Date,
): Promise<void> {
  const deleted = await tx
    .deleteFrom("phone_numbers")
    .where("number", "=", number)
    .returning("account_id")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: "phone_number.unassigned",
    subject_id: number,
    detail: { account_id: deleted.account_id },
  });
}
