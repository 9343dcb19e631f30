// Reads the account's groups.
import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { searches } from "../../lib/database/searches.ts";
import type { GroupResponse } from "./group-schema.ts";

/** Returns a page of groups with their counts, newest first. Refuses: validation-failed on a cursor of another list. */
export async function listGroups(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: GroupResponse[]; next_cursor: string | null }> {
  let query = groupRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", "<", decodeCursor(cursor));
  query = query.orderBy("id", "desc").limit(limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), limit);
  return { data: rows.map(groupResponse), next_cursor: next };
}

/** Returns the group with its member count, or null if the account has no group with this id (any integer). */
export async function findGroup(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
): Promise<GroupResponse | null> {
  const row = await groupRows(db, accountId).where("id", "=", knownId(groupId)).executeTakeFirst();
  return row ? groupResponse(row) : null;
}

/** Checks that the account has the group, without counting its members. Refuses: not-found. */
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
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (!group) throw notFound();
}

// A group that a process of an earlier version has changed is counted, until it is changed again.
function groupRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("groups")
    .select(["id", "name", "created_at", "updated_at"])
    .select((eb) =>
      eb
        .case()
        .whenRef("members_counted_at", "=", "updated_at")
        .then(eb.ref("members_count"))
        .else(
          eb
            .selectFrom("group_members")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .where("group_members.account_id", "=", accountId)
            .whereRef("group_members.group_id", "=", "groups.id"),
        )
        .end()
        .as("members_count"),
    )
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null);
}

function groupResponse(row: {
  id: number;
  name: string;
  members_count: number | null;
  created_at: Date;
  updated_at: Date;
}): GroupResponse {
  return {
    id: row.id,
    name: row.name,
    members_count: row.members_count ?? 0,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
