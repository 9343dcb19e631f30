import { operatorOf } from "../accounts/roles/grantor.ts";
import { createSignInLink } from "../accounts/sessions/sign-in-links.ts";
import type { Database } from "../lib/database/database.ts";
import type { Demo } from "./demo-file.ts";

const link_hours = 1;

/**
 * Creates a link that signs in once, within the hour, as the owner of the demo's account; null if the owner is gone.
 * Returns its path.
 */
export async function linkToDemo(
  db: Database,
  { console: { email } }: Demo,
  now: Date,
): Promise<string | null> {
  const owner = await db.query
    .selectFrom("users")
    .select(["account_id", "id"])
    .where("email", "=", email)
    .where("is_owner", "=", true)
    .where("active", "=", true)
    .executeTakeFirst();
  if (!owner) return null;
  const grantor = operatorOf(owner.account_id, "start");
  const link = await db.query
    .transaction()
    .execute((tx) => createSignInLink(tx, grantor, owner.id, now, link_hours));
  return link.path;
}
