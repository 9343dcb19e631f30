import type { Tx } from "../../../lib/database/database.ts";
import type { OptionPath } from "../picklist-schema.ts";

/**
 * Makes an option the default of its picklist, under the workspace's lock. Two statements, because the
 * unique index on defaults is checked row by row.
 */
export async function moveDefaultOption(
  tx: Tx,
  accountId: number,
  { workspaceId, picklist, optionId }: OptionPath,
  now: Date,
): Promise<void> {
  const setDefault = (is_default: boolean) =>
    tx
      .updateTable("picklist_options")
      .set({ is_default, updated_at: now })
      .where("account_id", "=", accountId)
      .where("workspace_id", "=", workspaceId)
      .where("picklist", "=", picklist);
  await setDefault(false).where("is_default", "=", true).execute();
  await setDefault(true).where("id", "=", optionId).execute();
}
