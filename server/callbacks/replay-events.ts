// Tells an endpoint again of what happened in a time, step by step.
import type { App } from "../engine/app.ts";
import { checkJob, type Job } from "../engine/work-jobs.ts";
import { statement, type Tx } from "../lib/database.ts";
import type { ReplayAnswer } from "./delivery-schema.ts";

/** Where a replay has got to, kept with its job. */
export type ReplayStep = {
  /** The last event that was looked at; its time as PostgreSQL writes it, to the microsecond. */
  readonly after: { readonly occurred_at: string; readonly seq: number };
  readonly to: string;
  readonly include: ReplayAnswer["include"];
};

const batch_events = 1_000;
/** Then others' jobs have their turn. */
const run_ms_max = 5_000;

/** Deliveries in these states begin anew, or are due at once. */
const states_again: Readonly<Record<ReplayAnswer["include"], readonly string[]>> = {
  undelivered: ["pending", "failed"],
  all: ["pending", "failed", "delivered"],
};

/** Before the first event: a seq is 1 or more. */
export function firstStep({
  from,
  ...rest
}: Pick<ReplayAnswer, "from" | "to" | "include">): ReplayStep {
  return { ...rest, after: { occurred_at: from, seq: 0 } };
}

/**
 * The job callbacks.replay. A step and its place are one transaction, so that a crash repeats none.
 * Stopped on the way, or after `ms_max`, it goes on with its next run; it ends early when the endpoint is
 * deleted or disabled.
 */
export async function replayEvents(
  app: App,
  job: Job,
  stopping: AbortSignal,
  ms_max = run_ms_max,
): Promise<{ again_at: Date } | void> {
  const until_ms = performance.now() + ms_max;
  let step = job.payload as ReplayStep;
  while (!stopping.aborted) {
    const from: ReplayStep = step;
    const { next, deliveries } = await app.db.query
      .transaction()
      .execute((tx) => takeStep(tx, job, from, app.clock.now()));
    if (deliveries > 0) app.hints.send("callback_work", String(job.account_id));
    if (!next) return;
    if (performance.now() >= until_ms) break;
    step = next;
  }
  return { again_at: app.clock.now() };
}

/** `next` is null after the last step. */
async function takeStep(
  tx: Tx,
  job: Job,
  { after, to, include }: ReplayStep,
  now: Date,
): Promise<{ next: ReplayStep | null; deliveries: number }> {
  const { account_id } = job;
  await checkJob(tx, job);
  const endpoint_id = Number(job.subject);
  // Before its deliveries, as whoever delivers does.
  const isEnabled = (await lockEnabled(tx, [account_id, endpoint_id])).length > 0;
  if (!isEnabled) return { next: null, deliveries: 0 };
  const place = [after.occurred_at, after.seq, to, batch_events];
  const events = await nextEvents(tx, [account_id, ...place]);
  const last = events.at(-1);
  if (!last) return { next: null, deliveries: 0 };
  const found = events.map(({ id }) => id);
  const kept = (await keepEvents(tx, [account_id, found])).map(({ id }) => id);
  const values = [account_id, kept, endpoint_id, states_again[include], now];
  const [made] = await makeDeliveries(tx, values);
  const next = { after: { occurred_at: last.occurred_at, seq: last.seq }, to, include };
  await keepPlace(tx, [account_id, job.id, JSON.stringify(next)]);
  return { next, deliveries: made!.deliveries };
}

const lockEnabled = statement<{ id: number }>(`
  select id from callback_endpoints
  where account_id = $1 and id = $2 and enabled for no key update`);

const nextEvents = statement<{ id: number; seq: number; occurred_at: string }>(`
  select id, seq, occurred_at::text as occurred_at from events
  where account_id = $1 and seq is not null
    and (occurred_at, seq) > ($2::text::timestamptz, $3) and occurred_at < $4
  order by occurred_at, seq limit $5`);

// What retention deletes at this moment is gone; what it would delete next waits for its delivery. In the
// order that retention locks them in.
const keepEvents = statement<{ id: number }>(`
  select id from events where account_id = $1 and id = any ($2::bigint[]) order by id for key share`);

const makeDeliveries = statement<{ deliveries: number }>(
  "select make_deliveries($1, $2, $3, $4, $5) as deliveries",
);

const keepPlace = statement("update jobs set payload = $3 where account_id = $1 and id = $2");
