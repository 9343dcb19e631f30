import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/** Returns the next `updated_at`: always later than the current one, even if the clock goes back. */
export function laterStamp(now: Date) {
  return sql<Date>`greatest(${now}::timestamptz, updated_at + interval '1 millisecond')`;
}

/**
 * Sets `updated_at` of the nodes, so that their leaders restart with the new settings. The caller
 * sends `call_work` for each node with account 0 after the commit.
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
