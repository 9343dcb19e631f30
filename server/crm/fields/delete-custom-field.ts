import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { findCustomField } from "./internal/find-custom-field.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";
import type { CustomFieldPath } from "./update-custom-field.ts";

/**
 * Deletes a custom field that no lead uses, even while leads are being created. Throws not-found;
 * conflict for a field in use, which can be archived instead.
 */
export async function deleteCustomField(
  tx: Tx,
  actor: Actor,
  { workspaceId, fieldId }: CustomFieldPath,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId, "leads");
  const field = await findCustomField(tx, account_id, workspaceId, fieldId);
  const lead = await tx
    .selectFrom("leads")
    .select("id")
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspaceId)
    .where(sql<boolean>`custom_fields ? ${field.key}`)
    .limit(1)
    .executeTakeFirst();
  if (lead) {
    throw new Refusal(
      "conflict",
      "Leads use this custom field, so it cannot be deleted; archive it with archived: true",
    );
  }
  await tx
    .deleteFrom("custom_fields")
    .where("account_id", "=", account_id)
    .where("id", "=", fieldId)
    .execute();
  await recordWorkspaceChange(tx, actor, workspaceId, {
    at: now,
    action: "custom_field.deleted",
    subject_id: fieldId,
  });
}
