// Replays the events of a time range to an endpoint, batch by batch.
import type { App } from "../../engine/app.ts";
import { checkJob, type Job } from "../../engine/work-jobs.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import type { ReplayResponse } from "./replay-schema.ts";

const batch_events = 1_000;
/** After this time the job yields to other jobs. */
const run_ms_max = 5_000;

/** Deliveries in these states are replayed. */
const replayed_states: Readonly<Record<ReplayResponse["include"], readonly string[]>> = {
  undelivered: ["pending", "failed"],
  all: ["pending", "failed", "delivered"],
};

/**
 * The job callbacks.replay. Each batch and the position reached are one transaction, so that a crash repeats
 * none. When stopped, or after `ms_max`, it continues in its next run; it ends early when the endpoint is
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
    const batch = await app.db.query.transaction().execute((tx) => replayBatch(tx, job, now));
    if (!batch) return;
    if (batch.deliveries > 0) app.notifications.send("callback_work", String(job.account_id));
    if (performance.now() >= until_ms) break;
  }
  return { again_at: app.clock.now() };
}

/** Returns null after the last batch. */
async function replayBatch(tx: Tx, job: Job, now: Date): Promise<{ deliveries: number } | null> {
  const { account_id } = job;
  await checkJob(tx, job);
  const [replay] = await findReplay(tx, [account_id, Number(job.subject)]);
  if (!replay) return null;
  const finish = async (state: "completed" | "failed") => {
    await finishReplay(tx, [account_id, replay.id, state, now]);
    return null;
  };
  const { reached_at, reached_seq, to_at } = replay;
  const events = await nextEvents(tx, [account_id, reached_at, reached_seq, to_at, batch_events]);
  const locked = await lockEvents(tx, [account_id, events.map(({ id }) => id)]);
  // After the events, as retention, and before its deliveries, as its deliverer.
  const isEnabled = (await lockEnabled(tx, [account_id, replay.endpoint_id])).length > 0;
  if (!isEnabled) return finish("failed");
  const last = events.at(-1);
  if (!last) return finish("completed");
  const [made] = await makeDeliveries(tx, [
    account_id,
    locked.map(({ id }) => id),
    replay.endpoint_id,
    replayed_states[replay.include],
    now,
  ]);
  const { deliveries } = made!;
  const position = [last.occurred_at, last.seq];
  await savePosition(tx, [account_id, replay.id, ...position, events.length, deliveries]);
  return { deliveries };
}

/** Times are in PostgreSQL's text form, to the microsecond. */
type ReplayRow = {
  id: number;
  endpoint_id: number;
  to_at: string;
  include: ReplayResponse["include"];
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

// Skips events that retention has just deleted, and locks the others until their deliveries exist, in the
// order in which retention locks them, before the endpoint.
const lockEvents = statement<{ id: number }>(`
  select id from events where account_id = $1 and id = any ($2::bigint[]) order by id for key share`);

const makeDeliveries = statement<{ deliveries: number }>(
  "select make_deliveries($1, $2, $3, $4, $5) as deliveries",
);

const savePosition = statement(`
  update callback_replays set reached_at = $3::text::timestamptz, reached_seq = $4,
    events_count = events_count + $5, deliveries_count = deliveries_count + $6
  where account_id = $1 and id = $2`);

const finishReplay = statement(`
  update callback_replays set state = $3, finished_at = $4 where account_id = $1 and id = $2`);
