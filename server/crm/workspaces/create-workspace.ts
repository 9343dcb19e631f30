import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { insertWorkspace } from "./insert-workspace.ts";
import { findWorkspace } from "./find-workspace.ts";
import type { NewWorkspace, WorkspaceResponse } from "./workspace-response.ts";
import { refuseTakenName } from "./internal/refuse-taken-workspace-name.ts";

/** Creates a workspace with its picklists on behalf of a caller; 422 on a taken name. */
export async function createWorkspace(
  tx: Tx,
  actor: Actor,
  workspace: NewWorkspace,
  now: Date,
): Promise<WorkspaceResponse> {
  const active = workspace.active ?? true;
  const id = await insertWorkspace(
    tx,
    actor.account_id,
    { name: workspace.name, active },
    now,
  ).catch(refuseTakenName);
  await recordAudit(tx, actor, { at: now, action: "workspace.created", subject_id: id });
  return findWorkspace(tx, actor.account_id, id);
}
