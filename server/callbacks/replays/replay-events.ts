// Tells an endpoint again of what happened in a time, step by step.
import type { App } from "../../engine/app.ts";
import { checkJob, type Job } from "../../engine/work-jobs.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import type { ReplayAnswer } from "./replay-schema.ts";

const batch_events = 1_000;
/** Then others' jobs have their turn. */
const run_ms_max = 5_000;

/** Deliveries in these states begin anew, or are due at once. */
const states_again: Readonly<Record<ReplayAnswer["include"], readonly string[]>> = {
  undelivered: ["pending", "failed"],
  all: ["pending", "failed", "delivered"],
};

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
  while (!stopping.aborted) {
    const now = app.clock.now();
    const step = await app.db.query.transaction().execute((tx) => takeStep(tx, job, now));
    if (!step) return;
    if (step.deliveries > 0) app.notifications.send("callback_work", String(job.account_id));
    if (performance.now() >= until_ms) break;
  }
  return { again_at: app.clock.now() };
}

/** Null after the last step. */
async function takeStep(tx: Tx, job: Job, now: Date): Promise<{ deliveries: number } | null> {
  const { account_id } = job;
  await checkJob(tx, job);
  const [replay] = await findReplay(tx, [account_id, Number(job.subject)]);
  if (!replay) return null;
  const finish = async (state: "completed" | "failed") => {
    await finishReplay(tx, [account_id, replay.id, state, now]);
    return null;
  };
  // Before its deliveries, as whoever delivers does.
  const isEnabled = (await lockEnabled(tx, [account_id, replay.endpoint_id])).length > 0;
  if (!isEnabled) return finish("failed");
  const { reached_at, reached_seq, to_at } = replay;
  const events = await nextEvents(tx, [account_id, reached_at, reached_seq, to_at, batch_events]);
  const last = events.at(-1);
  if (!last) return finish("completed");
  const kept = await keepEvents(tx, [account_id, events.map(({ id }) => id)]);
  const [made] = await makeDeliveries(tx, [
    account_id,
    kept.map(({ id }) => id),
    replay.endpoint_id,
    states_again[replay.include],
    now,
  ]);
  const { deliveries } = made!;
  const place = [last.occurred_at, last.seq];
  await keepPlace(tx, [account_id, replay.id, ...place, events.length, deliveries]);
  return { deliveries };
}

/** Times as PostgreSQL writes them, to the microsecond. */
type ReplayRow = {
  id: number;
  endpoint_id: number;
  to_at: string;
  include: ReplayAnswer["include"];
  reached_at: string;
  reached_seq: number;
};

const findReplay = statement<ReplayRow>(`
  select id, endpoint_id, to_at::text as to_at, include, reached_at::text as reached_at, reached_seq
  from callback_replays where account_id = $1 and id = $2 and state = 'processing'`);

const lockEnabled = statement<{ id: number }>(`
  select id from callback_endpoints
  where account_id = $1 and id = $2 and enabled for no key update`);

const nextEvents = statement<{ id: number; seq: number; occurred_at: string }>(`
  select id, seq, occurred_at::text as occurred_at from events
  where account_id = $1 and seq is not null
    and (occurred_at, seq) > ($2::text::timestamptz, $3) and occurred_at < $4::text::timestamptz
  order by occurred_at, seq limit $5`);

// What retention deletes at this moment is gone; what it would delete next waits for its delivery. In the
// order that retention locks them in.
const keepEvents = statement<{ id: number }>(`
  select id from events where account_id = $1 and id = any ($2::bigint[]) order by id for key share`);

const makeDeliveries = statement<{ deliveries: number }>(
  "select make_deliveries($1, $2, $3, $4, $5) as deliveries",
);

const keepPlace = statement(`
  update callback_replays set reached_at = $3::text::timestamptz, reached_seq = $4,
    events_count = events_count + $5, deliveries_count = deliveries_count + $6
  where account_id = $1 and id = $2`);

const finishReplay = statement(`
  update callback_replays set state = $3, finished_at = $4 where account_id = $1 and id = $2`);
