import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/**
 * Sets a group's updated_at and thereby locks it, so that changes of its members run one after the other
 * and cannot deadlock. Refuses: not-found.
 */
export async function touchGroup(
  tx: Tx,
  accountId: number,
  groupId: number,
  now: Date,
): Promise<void> {
  const group = await tx
    .updateTable("groups")
    .set({
      updated_at: now,
      // A count of the members that was right stays right.
      members_counted_at: sql<Date | null>`case when members_counted_at = updated_at then ${now}::timestamptz end`,
    })
    .where("account_id", "=", accountId)
    .where("id", "=", groupId)
    .where("deleted_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  if (!group) throw notFound();
}
