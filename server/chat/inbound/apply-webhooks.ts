// Applies the webhooks that providers sent: one leased applier per chat number, in whichever process
// acquires it, in batches. The statuses and replies of a batch are applied in one statement (migrations/functions/apply_chat_webhooks.sql).
import type { App } from "../../engine/app.ts";
import { acquireLease, isLeaseLost, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { applyBatch } from "./apply/apply-batch.ts";
import { dueNumbers, readInbox, type InboxNumber } from "./apply/inbox.ts";

/** How many numbers one process works on concurrently. */
const lanes_max = 4;
/** Batches of one number per iteration, so that a backlog does not delay other numbers. */
const batches_max = 20;

/** When webhooks are due: see poll-work.ts. */
export const due_webhooks = [
  "from chat_inbox where due_at <= $1 order by account_id, chat_number_id, due_at",
];

/**
 * Runs one iteration: applies some batches of each number with due webhooks and no applier elsewhere.
 * Returns how many webhooks were applied; a failing number is logged and retried in the next iteration.
 */
export async function applyWebhooks(
  app: App,
  stopping: AbortSignal,
  times: LeaseTimes = lease_times,
): Promise<number> {
  const numbers = (await dueNumbers(app)).values();
  let worked = 0;
  const lane = async () => {
    for (const number of numbers) {
      if (stopping.aborted) return;
      worked += await applyNumber(app, number, { stopping, times });
    }
  };
  await Promise.all(Array.from({ length: lanes_max }, lane));
  return worked;
}

async function applyNumber(
  app: App,
  number: InboxNumber,
  { stopping, times }: { stopping: AbortSignal; times: LeaseTimes },
): Promise<number> {
  const { account_id, chat_number_id } = number;
  const lease = await acquireLease(app, account_id, `chat_inbound:${chat_number_id}`, times);
  if (!lease) return 0;
  let worked = 0;
  try {
    for (let i = 0; i < batches_max && lease.mayProceed() && !stopping.aborted; i++) {
      const rows = await readInbox(app, number);
      if (rows.length === 0) break;
      await applyBatch(app, lease, number, rows);
      for (const { body } of rows) worked += body.length;
    }
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    // The process that holds the lease now continues.
    if (!isLeaseLost(err))
      app.log.error({ err, account_id, subject_id: chat_number_id }, "webhooks were not applied");
  } finally {
    await lease.release();
  }
  return worked;
}
