// Runs due jobs. A claim has a lease and a fencing token: another worker takes over a killed worker's job
// when its lease expires, and a worker that lost its claim can no longer complete the job.
import { sql } from "kysely";
import { statement, type Tx } from "../lib/database/database.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import type { JobKind } from "./add-job.ts";
import type { App } from "./app.ts";
import { keepLease, leaseEnd, type LeaseTimes } from "./keep-lease.ts";
import { renewalStatement } from "./renewal-statement.ts";

export type Job = {
  readonly account_id: number;
  readonly id: number;
  readonly kind: string;
  readonly subject: string;
  readonly payload: unknown;
  /** Since the last success, including this one. */
  readonly attempts: number;
  readonly fence: number;
  /** True while no other worker can have claimed the job: check it before starting external work. */
  mayProceed(): boolean;
};

/**
 * Runs a job; `again_at` schedules another run. If it throws, the job is retried later, so it may run more
 * than once; a transaction that a stale run must not commit calls `checkJob`. `stopping` is aborted when
 * the process stops or the claim is lost.
 */
export type JobHandler = (
  app: App,
  job: Job,
  stopping: AbortSignal,
) => Promise<void | { readonly again_at: Date }>;

const job_times: LeaseTimes = { lease_ms: 60_000, renew_ms: 20_000, margin_ms: 10_000 };
/** Per iteration, so that one account's backlog does not delay other accounts. */
const jobs_of_account_max = 10;
/** After this time no further job of the account starts: decoding one audio file takes seconds. */
const account_ms_max = 5_000;
const retry_first_ms = 1_000;
const retry_max_ms = 600_000;
/** A worker of another version may have a handler for the kind. */
const unknown_kind_ms = 60_000;

/**
 * Runs up to 10 due jobs of each account, one after the other, and returns how many it ran. A job that fails
 * is logged and retried without limit, after 1 s doubling to 10 min.
 */
export async function workJobs(
  app: App,
  handlers: Readonly<Partial<Record<JobKind, JobHandler>>>,
  stopping: AbortSignal,
  times: LeaseTimes = job_times,
  ms_max = account_ms_max,
): Promise<number> {
  let worked = 0;
  for (const accountId of await dueAccounts(app)) {
    const until_ms = performance.now() + ms_max;
    for (let i = 0; i < jobs_of_account_max && !stopping.aborted; i++) {
      if (i > 0 && performance.now() >= until_ms) break;
      try {
        if (!(await workNext(app, accountId, handlers, stopping, times))) break;
        worked++;
      } catch (err) {
        if (isDatabaseUnavailable(err)) throw err;
        app.log.error({ err, account_id: accountId }, "could not claim or complete a job");
        break;
      }
    }
  }
  return worked;
}

/** Throws TL001 when the claim is lost; otherwise no other worker can claim the job before `tx` ends. */
export async function checkJob(tx: Tx, job: Job): Promise<void> {
  await sql`select check_job(${job.account_id}, ${job.id}, ${job.fence})`.execute(tx);
}

/** Rows of due jobs that one statement reads to find accounts. */
const due_rows_max = 1_000;
const due_rounds_max = 20;

/** The longest waiting first. Each round excludes the accounts found so far, so that a backlog hides no other account. */
async function dueAccounts(app: App): Promise<number[]> {
  const accounts: number[] = [];
  for (let round = 0; round < due_rounds_max; round++) {
    const values = [app.clock.now(), accounts, due_rows_max];
    const found = await findDueAccounts(app.db.pool, values);
    accounts.push(...found.map(({ account_id }) => account_id));
    if (found.reduce((sum, { jobs }) => sum + jobs, 0) < due_rows_max) break;
  }
  return accounts;
}

const findDueAccounts = statement<{ account_id: number; jobs: number }>(`
  select account_id, count(*) as jobs
  from (
    select account_id, run_at from jobs
    where run_at <= $1 and (lease_until is null or lease_until <= now())
      and account_id <> all ($2::bigint[])
    order by run_at limit $3
  ) due
  group by account_id order by min(run_at)`);

/** Returns false when the account has no unclaimed due job. */
async function workNext(
  app: App,
  accountId: number,
  handlers: Readonly<Partial<Record<string, JobHandler>>>,
  stopping: AbortSignal,
  times: LeaseTimes,
): Promise<boolean> {
  const end = leaseEnd(times);
  const values = [accountId, app.clock.now(), times.lease_ms];
  const [claimed] = await claimJob(app.db.pool, values);
  if (!claimed) return false;
  const key = [accountId, claimed.id, claimed.fence];
  const { id: job_id, kind, attempts: attempt } = claimed;
  const about = { account_id: accountId, job_id, role: kind, attempt };
  const kept = keepLease(
    times,
    end,
    (within_ms) => renewJob(app.db.pool, [...key, times.lease_ms], within_ms),
    (reason) => app.log.warn(about, `claim of a running job lost: ${reason}`),
  );
  try {
    const handle = handlers[kind];
    if (!handle) app.log.warn(about, "this worker has no handler for the job's kind");
    const job = { ...claimed, account_id: accountId, mayProceed: kept.mayProceed };
    const answer = handle
      ? await handle(app, job, AbortSignal.any([stopping, kept.lost]))
      : { again_at: new Date(app.clock.now().getTime() + unknown_kind_ms) };
    await endJob(app, key, answer?.again_at);
  } catch (err) {
    app.log.error({ err, ...about }, "job failed; retrying later");
    const retry_at = new Date(app.clock.now().getTime() + retryMs(claimed.attempts, app.random()));
    await putBack(app.db.pool, [...key, retry_at, claimed.attempts]);
  } finally {
    kept.stop();
  }
  return true;
}

/** Deletes the job or schedules its next run; changes nothing when the claim is lost. */
async function endJob(app: App, key: number[], again_at: Date | undefined): Promise<void> {
  if (again_at === undefined && (await removeJob(app.db.pool, key)).length === 1) return;
  // Without `again_at` the next run is the one that was requested during this one.
  await putBack(app.db.pool, [...key, again_at ?? null, 0]);
}

/** With jitter, so that jobs that failed together are not retried together. */
function retryMs(attempts: number, random: number): number {
  const delay_ms = Math.min(retry_max_ms, retry_first_ms * 2 ** (attempts - 1));
  return delay_ms * (0.5 + random / 2);
}

type Claim = Pick<Job, "id" | "kind" | "subject" | "payload" | "attempts" | "fence">;

// Materialized: without it, on a table that was never analyzed, the plan claimed 20,000 rows instead of 5.
const claimJob = statement<Claim>(`
  with next as materialized (
    select id from jobs
    where account_id = $1 and run_at <= $2 and (lease_until is null or lease_until <= now())
    order by run_at, id limit 1
    for update skip locked
  )
  update jobs j set lease_until = now() + $3 * interval '1 ms', fence = j.fence + 1,
    attempts = j.attempts + 1, again_at = case when j.again_at > $2 then j.again_at end
  from next where j.account_id = $1 and j.id = next.id
  returning j.id, j.kind, j.subject, j.payload, j.attempts, j.fence`);

const renewJob = renewalStatement(`
  update jobs set lease_until = now() + $4 * interval '1 ms'
  where account_id = $1 and id = $2 and fence = $3 and lease_until > now()`);

const removeJob = statement<{ id: number }>(`
  delete from jobs where account_id = $1 and id = $2 and fence = $3 and again_at is null
  returning id`);

const putBack = statement(`
  update jobs set run_at = least(again_at, $4), again_at = null, lease_until = null, attempts = $5
  where account_id = $1 and id = $2 and fence = $3`);
