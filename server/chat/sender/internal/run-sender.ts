// Runs the sender of one number under its lease: polls its campaigns, marks the next messages,
// sends them at the number's rate and records the results, one statement at a time.
import type { WorkerContext } from "../../../engine/leased-workers.ts";
import { isLeaseLost } from "../../../engine/leases.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import { applyEffects } from "./apply-effects.ts";
import { hasWork, isWorthWaiting, nextCampaign } from "./choose-campaign.ts";
import { openDispatch } from "./dispatch.ts";
import { openRateBucket } from "./rate-bucket.ts";
import { inFlightMax, type CampaignWork, type Sender } from "./sender.ts";
import { recordAndMark, type Marked } from "./sender-statements.ts";
import { recoverDispatching, pollNumber } from "./poll-number.ts";

const poll_ms = 1_000;
const retry_ms = 200;

/**
 * Sends until there is no work left, the lease is lost or a stop is requested; then nothing is in
 * flight, and `sender.results` holds unrecorded results. A wake-up makes it poll its campaigns at
 * once.
 */
export async function runSender(sender: Sender, worker: WorkerContext): Promise<void> {
  const { app, lease, results } = sender;
  const bucket = openRateBucket(sender.number.rate_per_second, () => performance.now());
  const dispatch = openDispatch(sender, (ms) => bucket.pause(ms));
  let polled_at = -Infinity;
  /** Whether anything was sent or recorded since the last poll. */
  let moved = false;
  let resting = Promise.withResolvers<void>();
  sender.wake = () => resting.resolve();
  worker.onOpen({
    wake() {
      polled_at = -Infinity;
      sender.wake();
    },
  });

  const rest = (ms: number) => settledWithin(resting.promise, ms);
  const poll = async () => {
    await pollNumber(sender, dispatch);
    polled_at = performance.now();
    moved = false;
    bucket.setRate(sender.number.rate_per_second);
  };
  /** Runs one iteration; false when there is no work left. */
  const iterate = async (): Promise<boolean> => {
    resting = Promise.withResolvers<void>();
    const draining = worker.stopping.aborted;
    if (draining) dispatch.drain();
    if (await applyEffects(sender)) polled_at = -Infinity;
    const settled = moved && dispatch.busy() === 0 && results.length === 0 && !hasWork(sender);
    if (performance.now() - polled_at >= poll_ms || settled) await poll();
    // Otherwise an idle sender would end without applying the effects of the poll.
    if (sender.effects.length > 0) return true;
    const campaign = draining ? null : nextCampaign(sender);
    const slots = inFlightMax(sender) + ahead(inFlightMax(sender), results.length);
    const room = slots - dispatch.busy();
    const take = campaign ? Math.min(room, bucket.available()) : 0;
    if (results.length > 0 || take > 0) {
      const asked_at = performance.now();
      const recording = results.length > 0;
      const start = (marked: readonly Marked[]) => dispatch.start(marked, asked_at);
      const marked = await startBatch(sender, { campaign, take }, start);
      moved ||= recording || marked.length > 0;
      bucket.spend(marked.length);
      return true;
    }
    if (dispatch.busy() === 0 && (draining || !(await isWorthWaiting(sender)))) return false;
    const poll_in_ms = poll_ms - (performance.now() - polled_at);
    await rest(campaign && room > 0 ? Math.min(poll_in_ms, bucket.fullInMs()) : poll_in_ms);
    return true;
  };

  let going = true;
  let recovered = false;
  while (going && !lease.lost.aborted) {
    try {
      if (!recovered) await recover(sender);
      recovered = true;
      going = await iterate();
    } catch (err) {
      if (isLeaseLost(err)) break;
      app.log.warn({ err, account_id: lease.account_id }, "sender iteration failed; retrying");
      polled_at = -Infinity;
      await rest(retry_ms);
    }
  }
  // Requests in flight end with the provider's answer or as unknown; the results are kept.
  dispatch.drain();
  await dispatch.ended();
}

/**
 * Records the results and starts the next messages in a span. Each batch is a trace of its own: one for a campaign of a
 * million messages would be too large to read.
 */
async function startBatch(
  sender: Sender,
  { campaign, take }: { readonly campaign: CampaignWork | null; readonly take: number },
  start: (marked: readonly Marked[]) => void,
): Promise<Marked[]> {
  const attributes = {
    "trunkline.account.id": sender.lease.account_id,
    "trunkline.campaign.id": campaign?.id,
    "trunkline.chat_number.id": sender.number_id,
    "trunkline.batch.results": sender.results.length,
  };
  return traced("chat batch", { parent: null, attributes }, async (span) => {
    const marked = await runBatch(sender, campaign, take);
    span?.set({ "trunkline.batch.messages": marked.length });
    start(marked);
    return marked;
  });
}

/**
 * Returns how many messages are marked beyond the slots, so that no slot waits for the database: as
 * many as `ended` during the last iteration, from a tenth of the slots to a half. Not more, because
 * their outcome is unknown after a process is killed.
 */
function ahead(in_flight_max: number, ended: number): number {
  return Math.ceil(Math.min(in_flight_max / 2, Math.max(in_flight_max / 10, ended)));
}

/**
 * Records this process's own results first, then marks the remaining dispatching recipients as
 * unknown.
 */
async function recover(sender: Sender): Promise<void> {
  await runBatch(sender, null, 0);
  await recoverDispatching(sender);
  await runBatch(sender, null, 0);
}

/** Records the results and marks the next messages; unrecorded results are kept. */
async function runBatch(
  sender: Sender,
  campaign: CampaignWork | null,
  take: number,
): Promise<Marked[]> {
  const { app, lease, number_id, results } = sender;
  const batch = results.splice(0);
  const holder = { account_id: lease.account_id, number_id, fence: lease.fence };
  try {
    const { marked, seen, last_id } = await recordAndMark(app, holder, batch, {
      campaign_id: campaign?.id ?? 0,
      take,
      after: campaign?.after ?? 0,
    });
    if (campaign && take > 0) {
      campaign.after = last_id;
      campaign.served += seen;
      campaign.dry = seen < take;
    }
    return marked;
  } catch (error) {
    results.unshift(...batch);
    throw error;
  }
}
