import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { contactColumns, contactResponseOf, type ContactResponse } from "./contact-schema.ts";

/** Returns a contact of the workspace; throws not-found if it is missing, elsewhere or another account's. */
export async function findContact(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  contactId: number,
): Promise<ContactResponse> {
  const row = await db
    .selectFrom("contacts")
    .select(contactColumns(accountId))
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", contactId)
    .executeTakeFirst();
  if (!row) throw notFound();
  return contactResponseOf(row);
}
