import type { App } from "../../engine/app.ts";
import { findWorkspace } from "../workspaces/find-workspace.ts";
import { option_columns, picklistOptionResponse, type Picklists } from "./picklist-schema.ts";
import type { Picklist } from "../workspaces/workspace-schema.ts";

/** Lists the picklists of an active or inactive workspace; with archived options on request. */
export async function listPicklists(
  app: App,
  accountId: number,
  workspaceId: number,
  { includeArchived }: { includeArchived: boolean },
): Promise<Picklists> {
  await findWorkspace(app.db.query, accountId, workspaceId);
  const rows = await app.db.query
    .selectFrom("picklist_options")
    .select(option_columns)
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .$if(!includeArchived, (query) => query.where("archived_at", "is", null))
    .orderBy("position")
    .orderBy("id")
    .execute();
  const of = (picklist: Picklist) =>
    rows
      .filter((row) => row.picklist === picklist)
      .map((row) => {
        const { archived, ...shown } = picklistOptionResponse(row);
        return includeArchived ? { ...shown, archived } : shown;
      });
  return { status: of("status"), source: of("source"), priority: of("priority") };
}
