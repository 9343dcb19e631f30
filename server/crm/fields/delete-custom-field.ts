import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Database, Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { findCustomField } from "./internal/find-custom-field.ts";
import { isUsedSince, lookThroughLeads, type LookedAt } from "./internal/use-by-leads.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";
import type { CustomFieldPath } from "./update-custom-field.ts";

/** Looks for leads that use a field, before it is deleted. Throws not-found; conflict for a field in use. */
export async function lookForUseOfField(
  db: Database,
  account_id: number,
  { workspaceId, fieldId }: CustomFieldPath,
): Promise<LookedAt> {
  const { key } = await findCustomField(db.query, account_id, workspaceId, fieldId);
  const found = await lookThroughLeads(db, { account_id, workspace_id: workspaceId }, hasKey(key));
  if (found === null) throw fieldInUse();
  return found;
}

/**
 * Deletes a custom field that no lead uses, even while leads are being created. Throws not-found;
 * conflict for a field in use, which can be archived instead.
 */
export async function deleteCustomField(
  tx: Tx,
  actor: Actor,
  { workspaceId, fieldId }: CustomFieldPath,
  now: Date,
  looked: LookedAt,
): Promise<void> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId, "leads");
  const field = await findCustomField(tx, account_id, workspaceId, fieldId);
  const place = { account_id, workspace_id: workspaceId };
  if (await isUsedSince(tx, place, hasKey(field.key), looked)) throw fieldInUse();
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

const hasKey = (key: string) => sql<boolean>`l.custom_fields ? ${key}`;

function fieldInUse(): Refusal {
  return new Refusal(
    "conflict",
    "Leads use this custom field, so it cannot be deleted; archive it with archived: true",
  );
}
