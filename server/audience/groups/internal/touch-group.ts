import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/**
 * Stamps a group as changed and locks it: whoever changes its members does so one after the other,
 * and none meets another on the members. Refuses: not-found.
 */
export async function touchGroup(
  tx: Tx,
  accountId: number,
  groupId: number,
  now: Date,
): Promise<void> {
  const group = await tx
    .updateTable("groups")
    .set({ updated_at: now })
    .where("account_id", "=", accountId)
    .where("id", "=", groupId)
    .returning("id")
    .executeTakeFirst();
  if (!group) throw notFound();
}
