import type { Tx } from "../../lib/database/database.ts";
import { recordAudit, type UserActor } from "../audit/record-audit.ts";

/** Changes the display name of the actor's user. */
export async function updateOwnName(
  tx: Tx,
  actor: UserActor,
  name: string,
  now: Date,
): Promise<void> {
  await tx
    .updateTable("users")
    .set({ name, updated_at: now })
    .where("account_id", "=", actor.account_id)
    .where("id", "=", actor.user_id)
    .execute();
  await recordAudit(tx, actor, {
    at: now,
    action: "user.updated",
    subject_id: actor.user_id,
    detail: { changed: ["name"] },
  });
}
