import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/** Locks the trunk until the transaction ends. Refuses: not-found. */
export async function lockTrunk(tx: Tx, id: number): Promise<void> {
  const trunk = await tx
    .selectFrom("trunks")
    .select("id")
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!trunk) throw notFound();
}
