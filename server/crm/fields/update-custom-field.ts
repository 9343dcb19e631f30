import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import {
  customFieldResponse,
  hasChoices,
  options_refused,
  type CustomFieldResponse,
  type CustomFieldPatch,
} from "./custom-field-schema.ts";
import { archivedAt } from "./internal/archived-at.ts";
import { findCustomField } from "./internal/find-custom-field.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";

/** The path of a custom field. */
export type CustomFieldPath = { readonly workspaceId: number; readonly fieldId: number };

/**
 * Changes, archives or restores a custom field, but never its key and type. Leads keep their values,
 * including removed choices. Throws not-found; 422 for options of a type that has none.
 */
export async function updateCustomField(
  tx: Tx,
  actor: Actor,
  { workspaceId, fieldId }: CustomFieldPath,
  patch: CustomFieldPatch,
  now: Date,
): Promise<CustomFieldResponse> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId, "changes");
  const field = await findCustomField(tx, account_id, workspaceId, fieldId);
  if (patch.options && !hasChoices(field.type)) throw invalidField("options", options_refused);
  const { archived, ...rest } = patch;
  await tx
    .updateTable("custom_fields")
    .set({
      updated_at: now,
      ...rest,
      ...(archived === undefined
        ? {}
        : { archived_at: archivedAt(field.archived_at, archived, now) }),
    })
    .where("account_id", "=", account_id)
    .where("id", "=", fieldId)
    .execute();
  await recordWorkspaceChange(tx, actor, workspaceId, {
    at: now,
    action: "custom_field.updated",
    subject_id: fieldId,
    detail: { changed: Object.keys(patch) },
  });
  return customFieldResponse(await findCustomField(tx, account_id, workspaceId, fieldId));
}
