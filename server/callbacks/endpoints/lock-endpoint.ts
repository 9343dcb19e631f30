import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * Locks the endpoint's row until the transaction ends: nothing else changes it, creates deliveries for it or
 * claims them. Refuses: not-found.
 */
export async function lockEndpoint(tx: Tx, accountId: number, id: number) {
  const row = await tx
    .selectFrom("callback_endpoints")
    .select(["kind", "url", "types", "enabled"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  return row;
}
