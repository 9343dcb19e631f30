import type { Kysely } from "kysely";
import type { DB } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";
import { field_columns, type CustomFieldRow } from "../custom-field-schema.ts";

/** Returns a custom field of the workspace, archived or not; throws not-found otherwise. */
export async function findCustomField(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  fieldId: number,
): Promise<CustomFieldRow> {
  const field = await db
    .selectFrom("custom_fields")
    .select(field_columns)
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", fieldId)
    .executeTakeFirst();
  if (!field) throw notFound();
  return field;
}
