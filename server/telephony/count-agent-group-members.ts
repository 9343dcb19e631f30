// The member counts of agent groups, for the list of groups.
import { sql } from "kysely";
import type { Tx } from "../lib/database/database.ts";

/** Counts the members of groups, after they were changed. The caller has locked the groups, which have at most 200 members. */
export async function countAgentGroupMembers(
  tx: Tx,
  accountId: number,
  groupIds: readonly number[],
): Promise<void> {
  await sql`
    update agent_groups g set members_counted_at = g.updated_at, members_count = (
      select count(*) from agent_group_members m where m.account_id = ${accountId} and m.group_id = g.id)
    where g.account_id = ${accountId} and g.id = any(${[...groupIds]}::bigint[])`.execute(tx);
}

/** Locks the groups that have a member with the number, in the order of their IDs, and sets their `updated_at`. */
export async function touchAgentGroupsOf(
  tx: Tx,
  accountId: number,
  number: string,
  now: Date,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select g.id from agent_groups g
    where g.account_id = ${accountId} and g.id in (
      select m.group_id from agent_group_members m where m.account_id = ${accountId} and m.number = ${number})
    order by g.id for no key update`.execute(tx);
  const ids = rows.map(({ id }) => id);
  await sql`
    update agent_groups set updated_at = ${now}
    where account_id = ${accountId} and id = any(${ids}::bigint[])`.execute(tx);
  return ids;
}
