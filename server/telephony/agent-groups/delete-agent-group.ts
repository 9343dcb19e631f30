import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * Deletes an agent group and its members. Calls that name it find no agent and end as their policy
 * says. Refuses: not-found.
 */
export async function deleteAgentGroup(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const deleted = await tx
    .deleteFrom("agent_groups")
    .where("account_id", "=", actor.account_id)
    .where("id", "=", id)
    .returning("id")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  await recordAudit(tx, actor, { at: now, action: "agent_group.deleted", subject_id: id });
}
