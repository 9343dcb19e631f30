import { sql } from "kysely";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Database, Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";
import { findPicklistOption } from "./internal/find-picklist-option.ts";
import { isUsedSince, lookThroughLeads, type LookedAt } from "./internal/use-by-leads.ts";
import type { OptionPath, OptionRow } from "./picklist-schema.ts";

const lead_columns = { status: "status_id", source: "source_id", priority: "priority_id" } as const;

/**
 * Looks for leads that use an option, before it is deleted. Throws not-found; conflict for a default and for an option in
 * use.
 */
export async function lookForUseOfOption(
  db: Database,
  account_id: number,
  path: OptionPath,
): Promise<LookedAt> {
  refuseDefault(await findPicklistOption(db.query, account_id, path));
  const found = await lookThroughLeads(db, placeOf(account_id, path), isUse(path));
  if (found === null) throw optionInUse();
  return found;
}

/**
 * Deletes an option that no lead uses, even while leads are being created. Throws not-found; conflict for
 * a default and for an option in use, which can be archived instead.
 */
export async function deletePicklistOption(
  tx: Tx,
  actor: Actor,
  path: OptionPath,
  now: Date,
  looked: LookedAt,
): Promise<void> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, path.workspaceId, "leads");
  const option = await findPicklistOption(tx, account_id, path);
  refuseDefault(option);
  if (await isUsedSince(tx, placeOf(account_id, path), isUse(path), looked)) throw optionInUse();
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

const placeOf = (account_id: number, { workspaceId }: OptionPath) => ({
  account_id,
  workspace_id: workspaceId,
});

const isUse = ({ picklist, optionId }: OptionPath) =>
  sql<boolean>`${sql.ref(`l.${lead_columns[picklist]}`)} = ${optionId}`;

function refuseDefault({ is_default }: OptionRow): void {
  if (!is_default) return;
  throw new Refusal(
    "conflict",
    "The default option cannot be deleted; make another option the default first",
  );
}

function optionInUse(): Refusal {
  return new Refusal(
    "conflict",
    "Leads use this option, so it cannot be deleted; archive it with archived: true",
  );
}
