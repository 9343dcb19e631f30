import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { findWorkspace } from "./find-workspace.ts";
import { lockWorkspace } from "./lock-workspace.ts";
import { recordWorkspaceChange } from "./record-workspace-change.ts";
import { refuseTakenName } from "./internal/refuse-taken-workspace-name.ts";
import type { WorkspaceResponse, WorkspacePatch } from "./workspace-response.ts";

/** Renames, deactivates or reactivates a workspace. Throws not-found; 422 on a taken name. */
export async function updateWorkspace(
  tx: Tx,
  actor: Actor,
  workspaceId: number,
  patch: WorkspacePatch,
  now: Date,
): Promise<WorkspaceResponse> {
  await lockWorkspace(tx, actor.account_id, workspaceId, "changes");
  await tx
    .updateTable("workspaces")
    .set(patch)
    .where("account_id", "=", actor.account_id)
    .where("id", "=", workspaceId)
    .execute()
    .catch(refuseTakenName);
  await recordWorkspaceChange(tx, actor, workspaceId, {
    at: now,
    action: "workspace.updated",
    subject_id: workspaceId,
    detail: { changed: Object.keys(patch) },
  });
  return findWorkspace(tx, actor.account_id, workspaceId);
}
