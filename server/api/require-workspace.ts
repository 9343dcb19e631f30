import type { WorkspaceSchema } from "../crm/workspaces/workspace-schema.ts";
import { notFound } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";

/**
 * The schema of an active workspace of the caller's account; not-found otherwise. Everything about
 * leads and contacts asks it first: an inactive workspace hides all that is in it.
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
