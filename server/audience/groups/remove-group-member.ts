import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { touchGroup } from "./internal/touch-group.ts";

/** Takes a member out of a group. Refuses: not-found. */
export async function removeGroupMember(
  tx: Tx,
  actor: Actor,
  place: { readonly group_id: number; readonly member_id: number },
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  await touchGroup(tx, account_id, place.group_id, now);
  const removed = await tx
    .deleteFrom("group_members")
    .where("account_id", "=", account_id)
    .where("group_id", "=", place.group_id)
    .where("id", "=", place.member_id)
    .returning("id")
    .executeTakeFirst();
  if (!removed) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: "group_member.removed",
    subject_id: place.group_id,
    detail: { member_id: place.member_id },
  });
}
