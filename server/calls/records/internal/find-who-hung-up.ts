import type { Kysely } from "kysely";
import type { DB } from "../../../lib/database/database.ts";
import type { CallDetail } from "../call-record-schema.ts";

/** Returns who asked to end a call; a call that its campaign ended has no entry of its own. */
export async function findWhoHungUp(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<CallDetail["ended_by_user"]> {
  const user = await db
    .selectFrom("audit_entries as e")
    .innerJoin("users as u", (join) =>
      join.onRef("u.account_id", "=", "e.account_id").onRef("u.id", "=", "e.user_id"),
    )
    .select(["u.id", "u.name"])
    .where("e.account_id", "=", accountId)
    .where("e.action", "=", "call.hung_up")
    .where("e.subject_id", "=", String(id))
    .orderBy("e.id")
    .limit(1)
    .executeTakeFirst();
  return user ?? null;
}
