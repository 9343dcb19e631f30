import type { App } from "../../engine/app.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import {
  workspace_columns,
  workspaceResponse,
  type WorkspaceResponse,
} from "./workspace-response.ts";

/** Returns a page of the account's workspaces by ID, including inactive ones. */
export async function listWorkspaces(
  app: App,
  accountId: number,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ data: WorkspaceResponse[]; nextCursor: string | null }> {
  const found = await app.db.query
    .selectFrom("workspaces")
    .select(workspace_columns)
    .where("account_id", "=", accountId)
    .$if(cursor !== undefined, (query) => query.where("id", ">", decodeCursor(cursor!)))
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(workspaceResponse), nextCursor: next };
}
