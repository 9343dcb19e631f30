import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/** Deletes a group and its members; campaigns launched from it keep their recipients. Refuses: not-found. */
export async function deleteGroup(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const deleted = await tx
    .deleteFrom("groups")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  await recordAudit(tx, actor, { at: now, action: "group.deleted", subject_id: id });
}
