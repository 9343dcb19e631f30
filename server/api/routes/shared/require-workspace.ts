import type { WorkspaceSchema } from "../../../crm/workspaces/workspace-schema.ts";
import { notFound } from "../../../lib/errors.ts";
import type { ApiApp } from "../../api-app.ts";

/**
 * Returns the schema of an active workspace of the caller's account; not-found otherwise. Every request for
 * leads and contacts starts here: an inactive workspace hides its contents.
 */
export async function requireWorkspace(
  app: ApiApp,
  accountId: number,
  workspaceId: number,
): Promise<WorkspaceSchema> {
  const schema = await app.workspaceSchemas.find(accountId, workspaceId);
  if (!schema) throw notFound();
  return schema;
}

/** Returns the same as it is now, where a cached copy would refuse what another process has just added. */
export async function requireCurrentWorkspace(
  app: ApiApp,
  accountId: number,
  workspaceId: number,
): Promise<WorkspaceSchema> {
  const schema = await app.workspaceSchemas.refresh(accountId, workspaceId);
  if (!schema) throw notFound();
  return schema;
}
