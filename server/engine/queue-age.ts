import { sql, type Kysely } from "kysely";
import type { DB } from "../lib/database/database.ts";

/** Returns how many seconds the oldest due job has been waiting for a worker; 0 without one. */
export async function queueAge(db: Kysely<DB>, now: Date): Promise<number> {
  // Reads the first entries of one index, across all accounts: only the operator sees this figure.
  const { rows } = await sql<{ run_at: Date }>`
    select run_at from jobs
    where run_at <= ${now} and (lease_until is null or lease_until <= now())
    order by run_at limit 1`.execute(db);
  const oldest = rows[0]?.run_at ?? now;
  return (now.getTime() - oldest.getTime()) / 1_000;
}
