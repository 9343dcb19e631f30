import { statement, type Executor } from "../lib/database/database.ts";
import { job_kinds } from "./add-job.ts";
import { dueJobs } from "./work-jobs.ts";

// Reads the first index entries of each kind, across all accounts: only the operator sees this figure.
const findOldest = statement<{ run_at: Date }>(`
  select run_at from (
    ${dueJobs(job_kinds)
      .map((due) => `(select run_at ${due} limit 1)`)
      .join(" union all ")}
  ) due order by run_at limit 1`);

/**
 * Returns how many seconds the oldest due job has been waiting for a worker; 0 without one. Jobs of frozen accounts
 * do not count.
 */
export async function queueAge(db: Executor, now: Date): Promise<number> {
  const [oldest] = await findOldest(db, [now]);
  return (now.getTime() - (oldest?.run_at ?? now).getTime()) / 1_000;
}
