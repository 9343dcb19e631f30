import { sql, type Kysely } from "kysely";
import type { DB } from "../lib/database/database.ts";
import { job_kinds } from "./add-job.ts";

/** Returns how many seconds the oldest due job has been waiting for a worker; 0 without one. */
export async function queueAge(db: Kysely<DB>, now: Date): Promise<number> {
  // Reads the first index entries of each kind, across all accounts: only the operator sees this figure.
  const { rows } = await sql<{ run_at: Date }>`
    select due.run_at from unnest(${job_kinds}::text[]) k (kind)
    cross join lateral (
      select j.run_at from jobs j
      where j.kind = k.kind and j.run_at <= ${now}
        and (j.lease_until is null or j.lease_until <= now())
      order by j.run_at limit 1
    ) due
    order by due.run_at limit 1`.execute(db);
  const oldest = rows[0]?.run_at ?? now;
  return (now.getTime() - oldest.getTime()) / 1_000;
}
