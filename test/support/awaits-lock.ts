import { sql, type Kysely } from "kysely";
import type { DB } from "../../server/lib/database/database.ts";
import { eventually } from "./eventually.ts";

/** Waits until as many statements in this database wait for a lock. */
export async function awaitsLock(db: Kysely<DB>, count = 1): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length >= count;
  });
}
