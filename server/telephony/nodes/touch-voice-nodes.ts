import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";

/**
 * Returns the next `updated_at`: always later than the current one, even if the clock goes back. Adds in UTC, because
 * Citus refuses what depends on the session's time zone.
 */
export function laterStamp(now: Date) {
  const later = sql`(updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'`;
  return sql<Date>`greatest(${now}::timestamptz, ${later})`;
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
