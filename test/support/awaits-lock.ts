import { sql, type Kysely } from "kysely";
import type { DB } from "../../server/lib/database/database.ts";
import { eventually } from "./eventually.ts";

/** Waits until a statement in this database waits for a lock. */
export async function awaitsLock(db: Kysely<DB>): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length > 0;
  });
}
