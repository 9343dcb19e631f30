import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/** Other changes of the trunk wait; not-found when there is none. */
export async function lockTrunk(tx: Tx, id: number): Promise<void> {
  const trunk = await tx
    .selectFrom("trunks")
    .select("id")
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!trunk) throw notFound();
}
