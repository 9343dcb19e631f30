// Applies the webhooks that providers sent: one leased applier per chat number, in whichever process
// acquires it, in batches. The statuses and replies of a batch are applied in one statement (migrations/functions/apply_chat_webhooks.sql).
import { openAccountPlaces, type AccountPlaces } from "../../engine/account-places.ts";
import type { App } from "../../engine/app.ts";
import { acquireLease, isLeaseLost, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { applyBatch } from "./apply/apply-batch.ts";
import { dueNumbers, readInbox, urgentNumbers, type InboxNumber } from "./apply/inbox.ts";

/** How many numbers one process works on concurrently, and how many of one account. */
const lanes_max = 4;
const account_lanes_max = 2;
/** How often numbers whose urgent webhooks arrived meanwhile go before the others. */
const urgent_every_ms = 1_000;
/** Then all numbers are listed again, which takes a second or more beside a million webhooks. */
const iteration_ms_max = 10_000;

/** When webhooks are due: see poll-work.ts. */
export const due_webhooks = [
  `from chat_inbox i where i.due_at <= $1 and ${isUnfrozen("i")}
   order by i.account_id, i.chat_number_id, i.due_at`,
];

/**
 * Runs one iteration: applies the due webhooks of numbers without an applier elsewhere, one batch of each number after
 * the other, for 10 s at most. Returns how many webhooks were applied; a failing number is logged and retried in the
 * next iteration.
 */
export async function applyWebhooks(
  app: App,
  stopping: AbortSignal,
  times: LeaseTimes = lease_times,
): Promise<number> {
  const queue = await dueNumbers(app);
  const places = openAccountPlaces(account_lanes_max);
  const nowMs = () => app.clock.now().getTime();
  const end_ms = nowMs() + iteration_ms_max;
  let urgent_ms = nowMs() + urgent_every_ms;
  let worked = 0;
  const lane = async () => {
    while (!stopping.aborted && nowMs() < end_ms) {
      if (nowMs() >= urgent_ms) {
        urgent_ms = nowMs() + urgent_every_ms;
        queue.unshift(...(await urgentNumbers(app)));
      }
      const number = takeNext(queue, places);
      if (!number) return;
      places.add(number.account_id, 1);
      try {
        const { applied, hasMore } = await applyNumber(app, number, times);
        worked += applied;
        if (hasMore) queue.push(number);
      } finally {
        places.add(number.account_id, -1);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes_max }, lane));
  return worked;
}

/** Removes and returns the first number whose account has a lane left. */
function takeNext(queue: InboxNumber[], places: AccountPlaces): InboxNumber | undefined {
  const index = queue.findIndex(({ account_id }) => !places.isFull(account_id));
  return index < 0 ? undefined : queue.splice(index, 1)[0];
}

/** Applies one batch; returns how many webhooks that were, and whether the number has more. */
async function applyNumber(
  app: App,
  number: InboxNumber,
  times: LeaseTimes,
): Promise<{ applied: number; hasMore: boolean }> {
  const { account_id, chat_number_id } = number;
  const lease = await acquireLease(app, account_id, `chat_inbound:${chat_number_id}`, times);
  if (!lease) return { applied: 0, hasMore: false };
  try {
    const { rows, hasMore } = await readInbox(app, number);
    if (rows.length > 0) await applyBatch(app, lease, number, rows);
    const applied = rows.reduce((sum, { body }) => sum + body.length, 0);
    return { applied, hasMore };
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    // The process that holds the lease now continues.
    if (!isLeaseLost(err))
      app.log.error({ err, account_id, subject_id: chat_number_id }, "webhooks were not applied");
    return { applied: 0, hasMore: false };
  } finally {
    await lease.release();
  }
}
