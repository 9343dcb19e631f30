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
