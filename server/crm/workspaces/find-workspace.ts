import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import {
  workspace_columns,
  workspaceResponse,
  type WorkspaceResponse,
} from "./workspace-response.ts";

/** Returns a workspace of the account, active or not; throws not-found otherwise. */
export async function findWorkspace(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
): Promise<WorkspaceResponse> {
  const row = await db
    .selectFrom("workspaces")
    .select(workspace_columns)
    .where("account_id", "=", accountId)
    .where("id", "=", workspaceId)
    .executeTakeFirst();
  if (!row) throw notFound();
  return workspaceResponse(row);
}
