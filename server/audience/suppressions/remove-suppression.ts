import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/** Removes a suppression; the audit trail records the actor, the channel and the source. Refuses: not-found. */
export async function removeSuppression(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<void> {
  const removed = await tx
    .deleteFrom("suppressions")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .returning(["channel", "source"])
    .executeTakeFirst();
  if (!removed) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: "suppression.removed",
    subject_id: id,
    detail: removed,
  });
}
