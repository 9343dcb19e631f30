// Runs due jobs. A claim has a lease and a fencing token: another worker takes over a killed worker's job
// when its lease expires, and a worker that lost its claim can no longer complete the job.
import { sql } from "kysely";
import { statement, type Tx } from "../lib/database/database.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import { traced, type SpanOptions } from "../lib/tracing/tracing.ts";
import type { JobKind } from "./add-job.ts";
import { openAccountPlaces, type AccountPlaces } from "./account-places.ts";
import type { App } from "./app.ts";
import { takeCause } from "./job-cause.ts";
import { keepLease, leaseEnd, type LeaseTimes } from "./keep-lease.ts";
import { isUnfrozen } from "./poll-work.ts";
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
/** The most jobs of one account and kind per iteration, so that one account's backlog does not delay others. */
const jobs_of_account_max = 10;
/** After this time no further job of the account starts: decoding one audio file takes seconds. */
const account_ms_max = 1_000;
const retry_first_ms = 1_000;
const retry_max_ms = 600_000;
export type WorkOptions = {
  readonly times?: LeaseTimes;
  /** After this time no further job of an account starts in this iteration. */
  readonly ms_max?: number;
  /** Shared by the loops of a queue. */
  readonly places?: AccountPlaces;
};

export type JobHandlers = Readonly<Partial<Record<JobKind, JobHandler>>>;

/**
 * Runs due jobs of the kinds that have a handler, up to 10 of each account and kind, one after the other, and
 * returns how many it ran. Skips the accounts that have all their places. A job that fails is logged and retried
 * without limit, after 1 s doubling to 10 min.
 */
export async function workJobs(
  app: App,
  handlers: JobHandlers,
  stopping: AbortSignal,
  options: WorkOptions = {},
): Promise<number> {
  const { times = job_times, ms_max = account_ms_max, places = openAccountPlaces() } = options;
  let worked = 0;
  for (const due of await findDue(app, Object.keys(handlers), places)) {
    if (places.isFull(due.account_id)) continue;
    places.add(due.account_id, 1);
    try {
      worked += await workAccount(app, due, { handlers, stopping, times, ms_max });
    } finally {
      places.add(due.account_id, -1);
    }
  }
  return worked;
}

/** An account that has due jobs of a kind. */
type Due = { readonly account_id: number; readonly kind: string };
type Run = {
  readonly handlers: Readonly<Partial<Record<string, JobHandler>>>;
  readonly stopping: AbortSignal;
  readonly times: LeaseTimes;
  readonly ms_max: number;
};

async function workAccount(app: App, due: Due, run: Run): Promise<number> {
  const until_ms = performance.now() + run.ms_max;
  let worked = 0;
  while (worked < jobs_of_account_max && !run.stopping.aborted) {
    if (worked > 0 && performance.now() >= until_ms) break;
    try {
      if (!(await workNext(app, due, run))) break;
      worked++;
    } catch (err) {
      if (isDatabaseUnavailable(err)) throw err;
      const about = { account_id: due.account_id, role: due.kind };
      app.log.error({ err, ...about }, "could not claim or complete a job");
      break;
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

/**
 * The longest waiting first. Each round excludes the accounts and kinds found so far, so that a backlog hides no
 * other account.
 */
async function findDue(
  app: App,
  kinds: readonly string[],
  places: AccountPlaces,
): Promise<readonly Due[]> {
  const due: Due[] = [];
  const now = app.clock.now();
  for (let round = 0; round < due_rounds_max; round++) {
    const known = due.map(({ account_id, kind }) => `${kind}:${account_id}`);
    const values = [now, places.full(), known, due_rows_max];
    const found = await findDueAccounts(kinds)(app.db.pool, values);
    due.push(...found);
    if (found.reduce((sum, { jobs }) => sum + jobs, 0) < due_rows_max) break;
  }
  return due;
}

const isDue = (kind: string) =>
  `kind = '${kind}' and run_at <= $1 and (lease_until is null or lease_until <= now())`;

// A query for each kind, from an index, so that a backlog of other kinds is not read. Not a look-up for each row of
// kinds, which Citus refuses.
const findDueAccounts = remembered((kinds) => {
  const due = kinds.map(
    (kind) => `
      (select j.account_id, '${kind}' as kind, j.run_at from jobs j
      where ${isDue(kind)} and ${isUnfrozen("j")}
        and j.account_id <> all ($2::bigint[]) and '${kind}:' || j.account_id <> all ($3::text[])
      order by j.run_at limit $4)`,
  );
  return statement<Due & { jobs: number }>(`
    select due.account_id, due.kind, count(*) as jobs from (${due.join(" union all ")}) due
    group by due.account_id, due.kind order by min(due.run_at)`);
});

/** Makes one value for each list of kinds. */
function remembered<T>(make: (kinds: readonly string[]) => T): (kinds: readonly string[]) => T {
  const made = new Map<string, T>();
  return (kinds) => {
    const key = kinds.join();
    const found = made.get(key) ?? make(kinds);
    made.set(key, found);
    return found;
  };
}

/** Queries for the due jobs of each kind that a worker may run; see poll-work.ts. */
export const dueJobs = (kinds: readonly string[]): string[] =>
  kinds.map((kind) => `from jobs j where ${isDue(kind)} and ${isUnfrozen("j")} order by run_at`);

/** Returns false when the account has no unclaimed due job of the kind. */
async function workNext(
  app: App,
  { account_id: accountId, kind }: Due,
  { handlers, stopping, times }: Run,
): Promise<boolean> {
  const end = leaseEnd(times);
  const values = [accountId, kind, app.clock.now(), times.lease_ms];
  const [claimed] = await claimJob(app.db.pool, values);
  if (!claimed) return false;
  const key = [accountId, claimed.id, claimed.fence];
  const { id: job_id, attempts: attempt } = claimed;
  const about = { account_id: accountId, job_id, role: kind, attempt };
  const kept = keepLease(
    times,
    end,
    (within_ms) => renewJob(app.db.pool, [...key, times.lease_ms], within_ms),
    (reason) => app.log.warn(about, `claim of a running job lost: ${reason}`),
  );
  try {
    const { payload, place } = takeCause(claimed.payload);
    const job = { ...claimed, payload, account_id: accountId, mayProceed: kept.mayProceed };
    await traced(`job ${kind}`, spanOf(job, place), async () => {
      const answer = await handlers[kind]!(app, job, AbortSignal.any([stopping, kept.lost]));
      await endJob(app, key, answer?.again_at);
    });
  } catch (err) {
    app.log.error({ err, ...about }, "job failed; retrying later");
    const retry_at = new Date(app.clock.now().getTime() + retryMs(claimed.attempts, app.random()));
    await putBack(app.db.pool, [...key, retry_at, claimed.attempts]);
  } finally {
    kept.stop();
  }
  return true;
}

const spanOf = ({ account_id, id, attempts }: Job, place: SpanOptions): SpanOptions => ({
  ...place,
  kind: "consumer",
  attributes: {
    "trunkline.account.id": account_id,
    "trunkline.job.id": id,
    "trunkline.job.attempt": attempts,
  },
});

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
    where account_id = $1 and kind = $2 and run_at <= $3 and (lease_until is null or lease_until <= now())
      and not exists (select from accounts a where a.account_id = $1 and a.frozen_at is not null)
    order by run_at, id limit 1
    for update skip locked
  )
  update jobs j set lease_until = now() + $4 * interval '1 ms', fence = j.fence + 1,
    attempts = j.attempts + 1, again_at = case when j.again_at > $3 then j.again_at end
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

/** After this time a job that works in batches yields to other jobs. */
const batches_ms_max = 5_000;

/**
 * Runs the batches of a job: `next` gets the position of the last one, and returns its own, or undefined after the last.
 * Returns false if the job is to continue in its next run, because it was stopped or had its time.
 */
export async function runBatches<Position>(
  first: Position,
  next: (after: Position) => Promise<Position | undefined>,
  stopping: AbortSignal,
  ms_max = batches_ms_max,
): Promise<boolean> {
  const until_ms = performance.now() + ms_max;
  let last: Position | undefined = first;
  while (last !== undefined) {
    if (stopping.aborted || performance.now() > until_ms) return false;
    last = await next(last);
  }
  return true;
}
