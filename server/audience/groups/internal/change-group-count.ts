import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";

/**
 * Adds to a group's member count, after its members were changed. Counts them if the count is not kept, because a process
 * of an earlier version has changed the group. The caller has locked the group.
 */
export async function changeGroupCount(
  tx: Tx,
  accountId: number,
  groupId: number,
  by: number,
): Promise<void> {
  await sql`
    update groups set members_counted_at = updated_at,
      members_count = case when members_counted_at = updated_at then members_count + ${by}::bigint else (
        select count(*) from group_members m where m.account_id = ${accountId} and m.group_id = ${groupId}) end
    where account_id = ${accountId} and id = ${groupId}`.execute(tx);
}
