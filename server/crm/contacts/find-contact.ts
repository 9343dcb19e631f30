import type { App } from "../../engine/app.ts";
import { notFound } from "../../lib/errors.ts";
import { contact_columns, contactResponseOf, type ContactResponse } from "./contact-schema.ts";

/** Returns a contact of the workspace; throws not-found if it is missing, elsewhere or another account's. */
export async function findContact(
  app: App,
  accountId: number,
  workspaceId: number,
  contactId: number,
): Promise<ContactResponse> {
  const row = await app.db.query
    .selectFrom("contacts")
    .select(contact_columns)
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", contactId)
    .executeTakeFirst();
  if (!row) throw notFound();
  return contactResponseOf(row);
}
