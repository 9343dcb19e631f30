// Runs the sender of one number under its lease: polls its campaigns, marks the next messages,
// sends them at the number's rate and records the results, one statement at a time.
import type { WorkerContext } from "../../../engine/leased-workers.ts";
import { isLeaseLost } from "../../../engine/leases.ts";
import { openShares } from "../../../lib/shares.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import { applyEffects } from "./apply-effects.ts";
import { hasWork, isWorthWaiting, nextCampaign } from "./choose-campaign.ts";
import { openDispatch, type Dispatch } from "./dispatch.ts";
import { openRateBucket, type RateBucket } from "./rate-bucket.ts";
import { inFlightMax, type CampaignWork, type Sender } from "./sender.ts";
import { findPlan, recordAndMark, type Marked } from "./sender-statements.ts";
import { recoverDispatching, pollNumber } from "./poll-number.ts";

const poll_ms = 1_000;
const retry_ms = 200;
/** Halves what ended during a slow iteration after seven others. */
const ended_decay = 0.9;
/**
 * Statements of the senders of this process at the same time, fewer than its connections and fewer per account. A batch
 * is put together when it has its slot, so that the results that arrived while it waited are part of it.
 */
const batches = openShares(8, 6, Number.POSITIVE_INFINITY);

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
    const next = () => nextMessages(sender, worker, { dispatch, bucket });
    const { campaign, room, take } = next();
    if (results.length > 0 || take > 0) {
      await batches.use(lease.account_id, async () => {
        const recording = results.length > 0;
        // Again: results may have arrived while it waited.
        const marked = await startBatch(sender, next(), dispatch);
        moved ||= recording || marked.length > 0;
        bucket.spend(marked.length);
      });
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
      recovered ||= await recover(sender, worker.stopping);
      // The next holder of an expired lease goes on, whether or not a campaign is running.
      if (!recovered) return await lease.abandon();
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

/** Returns the campaign to serve, the slots that are free and how many messages to mark now. */
function nextMessages(
  sender: Sender,
  { stopping }: WorkerContext,
  { dispatch, bucket }: { readonly dispatch: Dispatch; readonly bucket: RateBucket },
): { readonly campaign: CampaignWork | null; readonly room: number; readonly take: number } {
  const campaign = stopping.aborted ? null : nextCampaign(sender);
  const slots = inFlightMax(sender) + ahead(sender);
  const room = slots - dispatch.busy();
  return { campaign, room, take: campaign ? Math.min(room, bucket.available()) : 0 };
}

/**
 * Records the results and starts the next messages in a span. Each batch is a trace of its own: one for a campaign of a
 * million messages would be too large to read.
 */
async function startBatch(
  sender: Sender,
  { campaign, take }: { readonly campaign: CampaignWork | null; readonly take: number },
  dispatch: Dispatch,
): Promise<Marked[]> {
  const { app, lease } = sender;
  // Before the time from which the marked messages must begin soon.
  if (campaign && take > 0) campaign.plan ??= await findPlan(app, lease.account_id, campaign.id);
  const asked_at = performance.now();
  const attributes = {
    "trunkline.account.id": lease.account_id,
    "trunkline.campaign.id": campaign?.id,
    "trunkline.chat_number.id": sender.number_id,
    "trunkline.batch.results": sender.results.length,
  };
  return traced("chat batch", { parent: null, attributes }, async (span) => {
    const marked = await runBatch(sender, campaign, take);
    span?.set({ "trunkline.batch.messages": marked.length });
    dispatch.start(marked, asked_at);
    return marked;
  });
}

/**
 * Returns how many messages are marked beyond the slots, so that no slot waits for the database: as
 * many as end during a slow iteration, from a tenth of the slots to a half. Not more, because
 * their outcome is unknown after a process is killed.
 */
function ahead(sender: Sender): number {
  const in_flight_max = inFlightMax(sender);
  const ended = Math.max(sender.ended_lately, sender.results.length);
  return Math.ceil(Math.min(in_flight_max / 2, Math.max(in_flight_max / 10, ended)));
}

/**
 * Records this process's own results first, then marks the remaining dispatching recipients as unknown. Returns false if
 * a stop was requested before the last batch of them.
 */
async function recover(sender: Sender, stopping: AbortSignal): Promise<boolean> {
  const record = async () => {
    await batches.use(sender.lease.account_id, () => runBatch(sender, null, 0));
    return !stopping.aborted;
  };
  await record();
  if (!(await recoverDispatching(sender, record))) return false;
  await record();
  return true;
}

/** Records the results and marks the next messages; unrecorded results are kept. */
async function runBatch(
  sender: Sender,
  campaign: CampaignWork | null,
  take: number,
): Promise<Marked[]> {
  const { app, lease, number_id, results } = sender;
  const batch = results.splice(0);
  sender.ended_lately = Math.max(batch.length, sender.ended_lately * ended_decay);
  const holder = { account_id: lease.account_id, number_id, fence: lease.fence };
  try {
    const { marked, seen, last_id } = await recordAndMark(app, holder, batch, {
      campaign_id: campaign?.id ?? 0,
      take,
      after: campaign?.after ?? 0,
    });
    sender.deferred.push(...batch.filter(({ state }) => state === "deferred"));
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
