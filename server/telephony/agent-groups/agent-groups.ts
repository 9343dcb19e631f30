import { sql, type Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { AgentGroupResponse } from "./agent-group-schema.ts";

/** Returns a page of the account's agent groups with their member counts, by ID. */
export async function listAgentGroups(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: AgentGroupResponse[]; next_cursor: string | null }> {
  let query = groupRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(groupResponse), next_cursor: next };
}

/** Returns an agent group of the account with its member count. Refuses: not-found. */
export async function readAgentGroup(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<AgentGroupResponse> {
  const row = await groupRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return groupResponse(row);
}

/**
 * Locks a group, which serializes changes of its members, and sets its `updated_at`. Refuses:
 * not-found.
 */
export async function touchAgentGroup(
  tx: Tx,
  accountId: number,
  id: number,
  now: Date,
): Promise<void> {
  const group = await tx
    .updateTable("agent_groups")
    .set({
      updated_at: now,
      // A count of the members that was right stays right.
      members_counted_at: sql<Date | null>`case when members_counted_at = updated_at then ${now}::timestamptz end`,
    })
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (!group) throw notFound();
}

// A group that a process of an earlier version has changed is counted, until it is changed again.
function groupRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("agent_groups")
    .select(["id", "name", "created_at", "updated_at"])
    .select((eb) =>
      eb
        .case()
        .whenRef("members_counted_at", "=", "updated_at")
        .then(eb.ref("members_count"))
        .else(
          eb
            .selectFrom("agent_group_members")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .where("agent_group_members.account_id", "=", accountId)
            .whereRef("agent_group_members.group_id", "=", "agent_groups.id"),
        )
        .end()
        .as("members_count"),
    )
    .where("account_id", "=", accountId);
}

type Row = Awaited<ReturnType<ReturnType<typeof groupRows>["executeTakeFirstOrThrow"]>>;

function groupResponse({ members_count, created_at, updated_at, ...row }: Row): AgentGroupResponse {
  return {
    ...row,
    members_count,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
