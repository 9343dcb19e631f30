import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/** When a node was changed: always a later moment than before, however the clock goes. */
export function laterStamp(now: Date) {
  return sql<Date>`greatest(${now}::timestamptz, updated_at + interval '1 millisecond')`;
}

/**
 * Stamps nodes as changed: their leaders begin anew with what is there then. Notification `call_work` of each
 * with account 0 after the commit.
 */
export async function touchVoiceNodes(
  tx: Tx,
  nodeIds: readonly number[],
  now: Date,
): Promise<void> {
  if (nodeIds.length === 0) return;
  await tx
    .updateTable("voice_nodes")
    .set({ updated_at: laterStamp(now) })
    .where("id", "in", nodeIds)
    .execute();
}
