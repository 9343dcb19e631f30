import { sql, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";

/**
 * Returns for how many seconds the campaigns of the longest throttled number have been waiting; 0 if
 * none waits. Across all accounts: only the operator sees this figure.
 */
export async function throttledSeconds(db: Kysely<DB>, now: Date): Promise<number> {
  const { rows } = await sql<{ set_at: Date }>`
    select h.set_at from chat_holds h
    where h.ends_at is not null and h.reason = 'throttled' and exists (
      select from chat_campaigns c
      where c.account_id = h.account_id and c.chat_number_id = h.subject_id
        and c.finished_at is null and c.state = 'running')
    order by h.set_at limit 1`.execute(db);
  const since = rows[0]?.set_at ?? now;
  return Math.max(0, now.getTime() - since.getTime()) / 1_000;
}
