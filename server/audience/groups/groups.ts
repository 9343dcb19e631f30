// The account's saved groups of people.
import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { searches } from "../../lib/database/searches.ts";
import type { GroupAnswer } from "./group-schema.ts";

/** A page of groups with their counts, newest first; 422 on a cursor that is not of this list. */
export async function listGroups(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: GroupAnswer[]; next_cursor: string | null }> {
  let query = groupRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", "<", decodeCursor(cursor));
  query = query.orderBy("id", "desc").limit(limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), limit);
  return { data: rows.map(groupAnswer), next_cursor: next };
}

/** The group with its count of members, or null when the account has none of this id (any integer). */
export async function findGroup(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
): Promise<GroupAnswer | null> {
  const row = await groupRows(db, accountId).where("id", "=", knownId(groupId)).executeTakeFirst();
  return row ? groupAnswer(row) : null;
}

/** Refuses not-found when the account has no such group; counts nothing. */
export async function requireGroup(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
): Promise<void> {
  const group = await db
    .selectFrom("groups")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", groupId)
    .executeTakeFirst();
  if (!group) throw notFound();
}

function groupRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("groups")
    .select(["id", "name", "created_at", "updated_at"])
    .select((eb) =>
      eb
        .selectFrom("group_members")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("group_members.account_id", "=", "groups.account_id")
        .whereRef("group_members.group_id", "=", "groups.id")
        .as("members_count"),
    )
    .where("account_id", "=", accountId);
}

function groupAnswer(row: {
  id: number;
  name: string;
  members_count: number | null;
  created_at: Date;
  updated_at: Date;
}): GroupAnswer {
  return {
    id: row.id,
    name: row.name,
    members_count: row.members_count ?? 0,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
