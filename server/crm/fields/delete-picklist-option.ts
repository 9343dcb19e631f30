import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { Refusal } from "../../lib/errors.ts";
import { deleteUnused, type Entry, type Write } from "./internal/delete-unused.ts";
import { findPicklistOption } from "./internal/find-picklist-option.ts";
import type { OptionPath } from "./picklist-schema.ts";

const lead_columns = { status: "status_id", source: "source_id", priority: "priority_id" } as const;

/**
 * Deletes an option that no lead uses, even while leads are being created. Throws not-found; conflict for
 * a default and for an option in use, which can be archived instead.
 */
export async function deletePicklistOption(
  app: App,
  actor: Actor,
  path: OptionPath,
  write: Write,
): Promise<void> {
  const { picklist, workspaceId, optionId } = path;
  const column = sql.ref(`l.${lead_columns[picklist]}`);
  const option: Entry = {
    kind: "picklist_option",
    workspace_id: workspaceId,
    id: optionId,
    is_indexed: picklist === "status",
    detail: { picklist },
    find: async (db) => {
      const { archived_at, is_default } = await findPicklistOption(db, actor.account_id, path);
      if (is_default) {
        throw new Refusal(
          "conflict",
          "The default option cannot be deleted; make another option the default first",
        );
      }
      return { archived_at, usedBy: sql<boolean>`${column} = ${optionId}` };
    },
  };
  await deleteUnused(app, actor, option, write);
}
