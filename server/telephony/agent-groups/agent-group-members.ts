// The members of an agent group in ring order, with their availability.
import type { Kysely } from "kysely";
import { decodeIntCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import type { AgentMemberResponse } from "./agent-group-schema.ts";
import { readAgentGroup } from "./agent-groups.ts";

/** Returns a page of a group's members by position. Refuses: not-found. */
export async function listAgentGroupMembers(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: AgentMemberResponse[]; next_cursor: string | null }> {
  await readAgentGroup(db, accountId, groupId);
  let query = memberRows(db, accountId, groupId);
  if (cursor !== undefined) query = query.where("m.position", ">", decodeIntCursor(cursor));
  const found = await query
    .orderBy("m.position")
    .limit(limit + 1)
    .execute();
  // The cursor is the position of the page's last member: positions are unique in a group.
  const { rows, next } = page(
    found.map((row) => ({ ...row, id: row.position, member_id: row.id })),
    limit,
  );
  const data = rows.map(({ member_id, ...row }) => memberResponse({ ...row, id: member_id }));
  return { data, next_cursor: next };
}

/** Returns one member of the group; throws if it does not exist. */
export async function readAgentGroupMember(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
  id: number,
): Promise<AgentMemberResponse> {
  const row = await memberRows(db, accountId, groupId)
    .where("m.id", "=", id)
    .executeTakeFirstOrThrow();
  return memberResponse(row);
}

function memberRows(db: Kysely<DB>, accountId: number, groupId: number) {
  return db
    .selectFrom("agent_group_members as m")
    .leftJoin("extensions as e", (join) =>
      join.on("e.account_id", "=", accountId).onRef("e.extension", "=", "m.number"),
    )
    .leftJoin("away_agents as a", (join) =>
      join.on("a.account_id", "=", accountId).onRef("a.number", "=", "m.number"),
    )
    .select(["m.id", "m.number", "e.name", "m.position", "a.since as away_since", "m.created_at"])
    .select(({ exists, selectFrom }) => [
      exists(
        selectFrom("call_legs as l")
          .select("l.id")
          .where("l.account_id", "=", accountId)
          .whereRef("l.number", "=", "m.number")
          .where("l.state", "<>", "ended"),
      )
        .$castTo<boolean>()
        .as("busy"),
      selectFrom("call_legs as l")
        .select("l.ended_at")
        .where("l.account_id", "=", accountId)
        .whereRef("l.number", "=", "m.number")
        .where("l.role", "<>", "customer")
        .where("l.state", "=", "ended")
        .orderBy("l.initiated_at", "desc")
        .limit(1)
        .as("last_call_ended_at"),
    ])
    .where("m.account_id", "=", accountId)
    .where("m.group_id", "=", groupId);
}

type Row = Awaited<ReturnType<ReturnType<typeof memberRows>["executeTakeFirstOrThrow"]>>;

function memberResponse({
  away_since,
  last_call_ended_at,
  created_at,
  ...row
}: Row): AgentMemberResponse {
  return {
    ...row,
    away_since: away_since?.toISOString() ?? null,
    last_call_ended_at: last_call_ended_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}
