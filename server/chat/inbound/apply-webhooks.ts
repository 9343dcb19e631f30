// Applies the webhooks that providers sent: one leased applier per chat number, in whichever process
// gets it, in batches. What a batch says is applied in one statement (migrations/functions/apply_delivery_statuses.sql).
import type { App } from "../../engine/app.ts";
import { acquireLease, isLeaseLost, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { applyBatch } from "./apply/apply-batch.ts";
import { dueNumbers, readInbox, type ReportedNumber } from "./apply/inbox.ts";

/** Numbers that one process works at once. */
const lanes_max = 4;
/** Of one number in a turn, so that its million statuses do not go before another number's one. */
const batches_max = 20;

/**
 * A turn of the loop: some batches of each number that has webhooks waiting and no applier elsewhere.
 * Returns how many webhooks it worked; a number that fails is logged and left to the next turn.
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
      worked += await applyOf(app, number, { stopping, times });
    }
  };
  await Promise.all(Array.from({ length: lanes_max }, lane));
  return worked;
}

async function applyOf(
  app: App,
  number: ReportedNumber,
  { stopping, times }: { stopping: AbortSignal; times: LeaseTimes },
): Promise<number> {
  const { account_id, chat_number_id } = number;
  const lease = await acquireLease(app, account_id, `chat_reports:${chat_number_id}`, times);
  if (!lease) return 0;
  let worked = 0;
  try {
    for (let i = 0; i < batches_max && lease.mayAct() && !stopping.aborted; i++) {
      const rows = await readInbox(app, number);
      if (rows.length === 0) break;
      await applyBatch(app, lease, number, rows);
      for (const { body } of rows) worked += body.length;
    }
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    // Whoever has the lease now goes on.
    if (!isLeaseLost(err))
      app.log.error({ err, account_id, subject_id: chat_number_id }, "webhooks were not applied");
  } finally {
    await lease.release();
  }
  return worked;
}
