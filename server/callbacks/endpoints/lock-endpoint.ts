import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";

/**
 * The endpoint's row, which no one else changes before the transaction ends; nor is anything made for it
 * or taken of it. Refuses not-found.
 */
export async function lockEndpoint(tx: Tx, accountId: number, id: number) {
  const row = await tx
    .selectFrom("callback_endpoints")
    .select(["kind", "url", "enabled"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  return row;
}
