import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";

/** Each with its attempts. */
const batch_deliveries = 1_000;
/** Then others' jobs have their turn. */
const run_ms_max = 5_000;

/**
 * The job callbacks.clear_endpoint: clears away an endpoint that was deleted, in small steps. Stopped on
 * the way, or after `ms_max`, it goes on with its next run.
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

// Each behind the one before it: what was deleted still stands at the front of the index for a while. By
// an array: joined, of 150,000 deliveries all were read. The endpoint first, as whoever else takes them.
const clearDeliveries = statement<{ last: number | null }>(`
  with endpoint as materialized (
    select from callback_endpoints c
    where c.account_id = $1 and c.id = $2 and c.deleted_at is not null for no key update
  ), next as materialized (
    select d.id from callback_deliveries d
    where d.account_id = $1 and d.endpoint_id = $2 and d.id > $3 and exists (select from endpoint)
    order by d.id limit $4
  ), gone as (
    delete from callback_deliveries d where d.account_id = $1 and d.id = any (array(select id from next))
  )
  select max(id) as last from next`);

// With what a relay that had begun before the deletion may have made since, and with the lease of whoever
// delivered to it: a straggler's ends.
const clearRest = statement(`
  with gone as (
    delete from callback_endpoints where account_id = $1 and id = $2 and deleted_at is not null returning id
  )
  delete from leases where account_id = $1 and name in (select 'callbacks:' || id from gone)`);
