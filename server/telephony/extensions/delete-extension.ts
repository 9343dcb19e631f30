import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { clearAway } from "../away-agents.ts";
import { countAgentGroupMembers, touchAgentGroupsOf } from "../count-agent-group-members.ts";
import { notFound } from "../../lib/errors.ts";

/** Deletes an extension and removes it from every group; its calls continue. Refuses: not-found. */
export async function deleteExtension(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const deleted = await tx
    .deleteFrom("extensions")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returning("extension")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  const group_ids = await touchAgentGroupsOf(tx, account_id, deleted.extension, now);
  await tx
    .deleteFrom("agent_group_members")
    .where("account_id", "=", account_id)
    .where("group_id", "=", sql<number>`any(${group_ids}::bigint[])`)
    .where("number", "=", deleted.extension)
    .execute();
  await countAgentGroupMembers(tx, account_id, group_ids);
  await clearAway(tx, account_id, [deleted.extension]);
  await recordAudit(tx, actor, {
    at: now,
    action: "extension.deleted",
    subject_id: id,
    detail: { extension: deleted.extension },
  });
}
