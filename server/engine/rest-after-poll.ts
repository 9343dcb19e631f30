import type { Database } from "../lib/database/database.ts";

/** How many times as long as it took: one poll takes less than a hundredth of the time. */
const rest_factor = 150;
const rest_ms_max = 20_000;

/**
 * Returns how long to rest after a poll, beyond its interval: 0, except after one that found nothing on a distributed
 * database, where it asks every shard and takes hundreds of times as long. Notifications still arrive at once; what is
 * due at a time, or whose notification was lost, is found up to 20 s later there.
 */
export async function restAfterPoll(
  db: Pick<Database, "isDistributed">,
  { took_ms, isIdle }: { readonly took_ms: number; readonly isIdle: boolean },
): Promise<number> {
  if (!isIdle || !(await db.isDistributed())) return 0;
  return Math.min(took_ms * rest_factor, rest_ms_max);
}
