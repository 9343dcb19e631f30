import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { deleteUnused, type Entry, type Write } from "./internal/delete-unused.ts";
import { findCustomField } from "./internal/find-custom-field.ts";
import type { CustomFieldPath } from "./update-custom-field.ts";

/**
 * Deletes a custom field that no lead uses, even while leads are being created. Throws not-found;
 * conflict for a field in use, which can be archived instead.
 */
export async function deleteCustomField(
  app: App,
  actor: Actor,
  { workspaceId, fieldId }: CustomFieldPath,
  write: Write,
): Promise<void> {
  const field: Entry = {
    kind: "custom_field",
    workspace_id: workspaceId,
    id: fieldId,
    is_indexed: false,
    detail: {},
    find: async (db) => {
      const { key, archived_at } = await findCustomField(
        db,
        actor.account_id,
        workspaceId,
        fieldId,
      );
      return { archived_at, usedBy: sql<boolean>`l.custom_fields ? ${key}` };
    },
  };
  await deleteUnused(app, actor, field, write);
}
