import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { changeGroupCount } from "./internal/change-group-count.ts";
import { touchGroup } from "./internal/touch-group.ts";

/** Removes a member from a group. Refuses: not-found. */
export async function removeGroupMember(
  tx: Tx,
  actor: Actor,
  key: { readonly group_id: number; readonly member_id: number },
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  await touchGroup(tx, account_id, key.group_id, now);
  const removed = await tx
    .deleteFrom("group_members")
    .where("account_id", "=", account_id)
    .where("group_id", "=", key.group_id)
    .where("id", "=", key.member_id)
    .returning("id")
    .executeTakeFirst();
  if (!removed) throw notFound();
  await changeGroupCount(tx, account_id, key.group_id, -1);
  await recordAudit(tx, actor, {
    at: now,
    action: "group_member.removed",
    subject_id: key.group_id,
    detail: { member_id: key.member_id },
  });
}
