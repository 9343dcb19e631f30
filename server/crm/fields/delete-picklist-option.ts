import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { findPicklistOption } from "./internal/find-picklist-option.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import type { OptionPath } from "./picklist-schema.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";

const lead_columns = { status: "status_id", source: "source_id", priority: "priority_id" } as const;

/**
 * Deletes an option that no lead uses, even while leads are being created. Throws not-found; conflict for
 * a default and for an option in use, which can be archived instead.
 */
export async function deletePicklistOption(
  tx: Tx,
  actor: Actor,
  path: OptionPath,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, path.workspaceId, "leads");
  const option = await findPicklistOption(tx, account_id, path);
  if (option.is_default) {
    throw new Refusal(
      "conflict",
      "The default option cannot be deleted; make another option the default first",
    );
  }
  const lead = await tx
    .selectFrom("leads")
    .select("id")
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", path.workspaceId)
    .where(lead_columns[path.picklist], "=", option.id)
    .limit(1)
    .executeTakeFirst();
  if (lead) {
    throw new Refusal(
      "conflict",
      "Leads use this option, so it cannot be deleted; archive it with archived: true",
    );
  }
  await tx
    .deleteFrom("picklist_options")
    .where("account_id", "=", account_id)
    .where("id", "=", option.id)
    .execute();
  await recordWorkspaceChange(tx, actor, path.workspaceId, {
    at: now,
    action: "picklist_option.deleted",
    subject_id: option.id,
    detail: { picklist: path.picklist },
  });
}
