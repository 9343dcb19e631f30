import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { archivedAt } from "./internal/archived-at.ts";
import { findPicklistOption } from "./internal/find-picklist-option.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { moveDefaultOption } from "./internal/move-default-option.ts";
import {
  picklistOptionResponse,
  type OptionPath,
  type OptionRow,
  type PicklistOptionResponse,
  type PicklistOptionPatch,
} from "./picklist-schema.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";

/**
 * Changes, archives or restores an option, or makes it the default. Throws not-found; conflict if the
 * picklist would have no default or an archived one.
 */
export async function updatePicklistOption(
  tx: Tx,
  actor: Actor,
  path: OptionPath,
  patch: PicklistOptionPatch,
  now: Date,
): Promise<PicklistOptionResponse> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, path.workspaceId, "changes");
  const option = await findPicklistOption(tx, account_id, path);
  refuseLosingDefault(option, patch);
  await tx
    .updateTable("picklist_options")
    .set({
      updated_at: now,
      ...(patch.label === undefined ? {} : { label: patch.label }),
      ...(patch.color === undefined ? {} : { color: patch.color }),
      ...(patch.position === undefined ? {} : { position: patch.position }),
      ...(patch.archived === undefined
        ? {}
        : { archived_at: archivedAt(option.archived_at, patch.archived, now) }),
    })
    .where("account_id", "=", account_id)
    .where("id", "=", option.id)
    .execute();
  if (patch.isDefault) await moveDefaultOption(tx, account_id, path, now);
  await recordWorkspaceChange(tx, actor, path.workspaceId, {
    at: now,
    action: "picklist_option.updated",
    subject_id: option.id,
    detail: { picklist: path.picklist, changed: Object.keys(patch) },
  });
  return picklistOptionResponse(await findPicklistOption(tx, account_id, path));
}

function refuseLosingDefault(option: OptionRow, patch: PicklistOptionPatch): void {
  if (option.is_default && patch.isDefault === false) {
    throw new Refusal(
      "conflict",
      "This is the default option; make another option the default instead",
    );
  }
  const isDefault = option.is_default || patch.isDefault === true;
  const archived = patch.archived ?? option.archived_at !== null;
  if (!isDefault || !archived) return;
  throw new Refusal(
    "conflict",
    option.is_default
      ? "The default option cannot be archived; make another option the default first"
      : "An archived option cannot be the default; restore it with archived: false",
  );
}
