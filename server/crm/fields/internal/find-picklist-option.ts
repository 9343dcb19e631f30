import type { Kysely } from "kysely";
import type { DB } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";
import { option_columns, type OptionPath, type OptionRow } from "../picklist-schema.ts";

/** Returns the option at its path, archived or not; throws not-found otherwise. */
export async function findPicklistOption(
  db: Kysely<DB>,
  accountId: number,
  { workspaceId, picklist, optionId }: OptionPath,
): Promise<OptionRow> {
  const option = await db
    .selectFrom("picklist_options")
    .select(option_columns)
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("picklist", "=", picklist)
    .where("id", "=", optionId)
    .executeTakeFirst();
  if (!option) throw notFound();
  return option;
}
