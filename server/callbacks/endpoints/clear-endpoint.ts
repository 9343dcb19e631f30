import type { App } from "../../engine/app.ts";
import { runBatches, type Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";

/** Deliveries per statement, each with its attempts. */
const batch_deliveries = 1_000;

/**
 * The job callbacks.clear_endpoint: deletes the rows of a deleted endpoint in batches. When stopped, or after
 * `ms_max`, it continues in its next run.
 */
export async function clearEndpoint(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
  ms_max?: number,
): Promise<{ again_at: Date } | void> {
  const endpoint_id = Number(subject);
  const next = (after: number) => clearDeliveries(app, { account_id, endpoint_id, after });
  if (!(await runBatches(0, next, stopping, ms_max))) return { again_at: app.clock.now() };
  await clearRest(app.db.pool, [account_id, endpoint_id]);
}

/**
 * Deletes the next batch and returns its last event; undefined: there was none. Continues behind the last batch, because
 * deleted rows stay in the index until vacuum.
 */
function clearDeliveries(
  app: App,
  at: { readonly account_id: number; readonly endpoint_id: number; readonly after: number },
): Promise<number | undefined> {
  const { account_id, endpoint_id, after } = at;
  return app.db.query.transaction().execute(async (tx) => {
    // First, as the other writers do: after it, no delivery gets another attempt.
    if ((await lockDeleted(tx, [account_id, endpoint_id])).length === 0) return undefined;
    const next = await findDeliveries(tx, [account_id, endpoint_id, after, batch_deliveries]);
    const ids = next.map(({ id }) => id);
    await deleteAttempts(tx, [account_id, ids]);
    await deleteDeliveries(tx, [account_id, ids]);
    return next.at(-1)?.event_id;
  });
}

const lockDeleted = statement(`
  select from callback_endpoints
  where account_id = $1 and id = $2 and deleted_at is not null for no key update`);

const findDeliveries = statement<{ id: number; event_id: number }>(`
  select id, event_id from callback_deliveries
  where account_id = $1 and endpoint_id = $2 and event_id > $3
  order by event_id limit $4`);

// By an array: a join read all of 150,000 deliveries.
const deleteAttempts = statement(
  "delete from callback_attempts where account_id = $1 and delivery_id = any ($2::bigint[])",
);

const deleteDeliveries = statement(
  "delete from callback_deliveries where account_id = $1 and id = any ($2::bigint[])",
);

// Also deletes the deliveries, never attempted, that a relay which began before the deletion may have created since, and
// the deliverer's lease, which ends a deliverer that is still running.
const clearRest = statement(`
  with gone as (
    delete from callback_endpoints where account_id = $1 and id = $2 and deleted_at is not null returning id
  )
  delete from leases where account_id = $1 and name in (select 'callbacks:' || id from gone)`);
