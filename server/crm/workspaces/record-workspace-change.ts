import type { AuditAction } from "../../accounts/audit/audit-actions.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";

/**
 * Completes a change to a workspace's configuration: increments the schema version, so that no lead validated
 * against the old one is created after this commit, and audits the change.
 */
export async function recordWorkspaceChange(
  tx: Tx,
  actor: Actor,
  workspaceId: number,
  change: { at: Date; action: AuditAction; subject_id: number; detail?: Record<string, unknown> },
): Promise<void> {
  await tx
    .updateTable("workspaces")
    .set((eb) => ({ schema_version: eb("schema_version", "+", 1), updated_at: change.at }))
    .where("account_id", "=", actor.account_id)
    .where("id", "=", workspaceId)
    .execute();
  const detail = { workspace_id: workspaceId, ...change.detail };
  await recordAudit(tx, actor, { ...change, detail });
}
