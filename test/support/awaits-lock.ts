import { sql, type Kysely } from "kysely";
import type { DB } from "../../server/lib/database/database.ts";
import { citusUrls } from "./citus.ts";
import { eventually } from "./eventually.ts";

/** On Citus, the sessions of all nodes: a statement waits on the worker that has the row. */
const activity = citusUrls("").length > 0 ? "citus_stat_activity" : "pg_stat_activity";

/** Waits until as many statements in this database wait for a lock. */
export async function awaitsLock(db: Kysely<DB>, count = 1): Promise<void> {
  await eventually(async () => {
    const { rows } = await sql`
      select from ${sql.table(activity)}
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    return rows.length >= count;
  });
}
