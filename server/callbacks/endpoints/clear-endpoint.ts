import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";

/** Deliveries per statement, each with its attempts. */
const batch_deliveries = 1_000;
/** After this time the job yields to other jobs. */
const run_ms_max = 5_000;

/**
 * The job callbacks.clear_endpoint: deletes the rows of a deleted endpoint in batches. When stopped, or after
 * `ms_max`, it continues in its next run.
 */
export async function clearEndpoint(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
  ms_max = run_ms_max,
): Promise<{ again_at: Date } | void> {
  const endpoint_id = Number(subject);
  const until_ms = performance.now() + ms_max;
  let last: number | null = 0;
  while (last !== null) {
    if (stopping.aborted || performance.now() > until_ms) return { again_at: app.clock.now() };
    const values = [account_id, endpoint_id, last, batch_deliveries];
    const [step] = await clearDeliveries(app.db.pool, values);
    last = step!.last;
  }
  await clearRest(app.db.pool, [account_id, endpoint_id]);
}

// Continues behind the last batch, because deleted rows stay in the index until vacuum. Deletes by an array:
// a join read all of 150,000 deliveries. Locks the endpoint first, in the order of the other writers.
const clearDeliveries = statement<{ last: number | null }>(`
  with endpoint as materialized (
    select from callback_endpoints c
    where c.account_id = $1 and c.id = $2 and c.deleted_at is not null for no key update
  ), next as materialized (
    select d.id, d.event_id from callback_deliveries d
    where d.account_id = $1 and d.endpoint_id = $2 and d.event_id > $3 and exists (select from endpoint)
    order by d.event_id limit $4
  ), gone as (
    delete from callback_deliveries d where d.account_id = $1 and d.id = any (array(select id from next))
  )
  select max(event_id) as last from next`);

// Also deletes what a relay that began before the deletion may have created since, and the deliverer's lease,
// which ends a deliverer that is still running.
const clearRest = statement(`
  with gone as (
    delete from callback_endpoints where account_id = $1 and id = $2 and deleted_at is not null returning id
  )
  delete from leases where account_id = $1 and name in (select 'callbacks:' || id from gone)`);
