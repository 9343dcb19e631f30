import type { App } from "../../engine/app.ts";
import {
  customFieldResponse,
  field_columns,
  type CustomFieldResponse,
} from "./custom-field-schema.ts";
import { findWorkspace } from "../workspaces/find-workspace.ts";

/** Lists the custom fields of an active or inactive workspace by position; archived ones on request. */
export async function listCustomFields(
  app: App,
  accountId: number,
  workspaceId: number,
  { includeArchived }: { includeArchived: boolean },
): Promise<{ data: CustomFieldResponse[] }> {
  await findWorkspace(app.db.query, accountId, workspaceId);
  const rows = await app.db.query
    .selectFrom("custom_fields")
    .select(field_columns)
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .$if(!includeArchived, (query) => query.where("archived_at", "is", null))
    .orderBy("position")
    .orderBy("id")
    .execute();
  return { data: rows.map(customFieldResponse) };
}
