import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/** Longer than a group's name may be, so that a deleted group's name is never in use. */
const deleted_name_characters = 256;

/**
 * Deletes a group: it disappears from the API and its name is free; a job deletes its rows. Campaigns launched from it
 * keep their recipients. Refuses: not-found.
 */
export async function deleteGroup(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const deleted = await tx
    .updateTable("groups")
    .set({ deleted_at: now, name: `deleted ${id}`.padEnd(deleted_name_characters) })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  const kind = "audience.clear_group";
  await addJob(tx, { account_id, kind, subject: String(id), run_at: now }, now);
  await recordAudit(tx, actor, { at: now, action: "group.deleted", subject_id: id });
}
