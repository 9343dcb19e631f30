import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";

/** Numbers the members' positions in this order, from 1. The caller has locked the group. */
export async function placeAgentGroupMembers(
  tx: Tx,
  accountId: number,
  groupId: number,
  memberIds: readonly number[],
): Promise<void> {
  await sql`
    update agent_group_members m set position = n.position
    from unnest(${[...memberIds]}::bigint[]) with ordinality as n(id, position)
    where m.account_id = ${accountId} and m.group_id = ${groupId} and m.id = n.id
      and m.position <> n.position`.execute(tx);
}

/** Returns the group's members by position, locked: the deletion of an extension removes members of any group. */
export async function readAgentGroupOrder(
  tx: Tx,
  accountId: number,
  groupId: number,
): Promise<{ id: number; number: string }[]> {
  return tx
    .selectFrom("agent_group_members")
    .select(["id", "number"])
    .where("account_id", "=", accountId)
    .where("group_id", "=", groupId)
    .orderBy("position")
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
}
