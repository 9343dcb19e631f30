import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { refuseTakenName } from "./create-group.ts";
import type { GroupResponse, GroupPatch } from "./group-schema.ts";
import { findGroup } from "./groups.ts";
import { touchGroup } from "./internal/touch-group.ts";

/** Updates a group. Refuses: not-found; validation-failed (name taken). */
export async function updateGroup(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: GroupPatch,
  now: Date,
): Promise<GroupResponse> {
  await touchGroup(tx, actor.account_id, id, now);
  await tx
    .updateTable("groups")
    .set(patch)
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .execute()
    .catch(refuseTakenName);
  const detail = { changed: Object.keys(patch) };
  await recordAudit(tx, actor, { at: now, action: "group.updated", subject_id: id, detail });
  return (await findGroup(tx, actor.account_id, id))!;
}
