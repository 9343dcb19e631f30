// The sender of one number, under its lease: surveys its campaigns, marks the next messages, sends
// them at the number's rate, and records what became of them, one statement at a time.
import type { WorkerContext } from "../../../engine/leased-workers.ts";
import { isLeaseLost } from "../../../engine/leases.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { applyEffects } from "./apply-effects.ts";
import { hasWork, isWorthWaiting, nextCampaign } from "./choose-campaign.ts";
import { openDispatch } from "./dispatch.ts";
import { openRateBucket } from "./rate-bucket.ts";
import type { CampaignWork, Sender } from "./sender.ts";
import { senderTurn, type Marked } from "./sender-statements.ts";
import { recoverDispatching, pollNumber } from "./poll-number.ts";

const survey_ms = 1_000;
const retry_ms = 200;

/**
 * Sends until nothing is left to do, the lease is lost or a stop is asked for; then nothing is under
 * way any more, and `sender.results` holds what could not be recorded. A wake-up makes it look at
 * its campaigns anew.
 */
export async function runSender(sender: Sender, worker: WorkerContext): Promise<void> {
  const { app, lease, settings, results } = sender;
  const bucket = openRateBucket(sender.number.rate_per_second, () => performance.now());
  const dispatch = openDispatch(sender, (ms) => bucket.pause(ms));
  let surveyed_at = -Infinity;
  /** Whether anything was sent or recorded since the last survey. */
  let moved = false;
  let resting = Promise.withResolvers<void>();
  sender.wake = () => resting.resolve();
  worker.onOpen({
    wake() {
      surveyed_at = -Infinity;
      sender.wake();
    },
  });

  const rest = (ms: number) => settledWithin(resting.promise, ms);
  const survey = async () => {
    await pollNumber(sender, dispatch);
    surveyed_at = performance.now();
    moved = false;
    bucket.setRate(sender.number.rate_per_second);
  };
  /** One round; false when the work is done. */
  const round = async (): Promise<boolean> => {
    resting = Promise.withResolvers<void>();
    const draining = worker.stopping.aborted;
    if (draining) dispatch.drain();
    if (await applyEffects(sender)) surveyed_at = -Infinity;
    const settled = moved && dispatch.busy() === 0 && results.length === 0 && !hasWork(sender);
    if (performance.now() - surveyed_at >= survey_ms || settled) await survey();
    // Or a sender with nothing left to send would end and forget what the survey asks for.
    if (sender.effects.length > 0) return true;
    const campaign = draining ? null : nextCampaign(sender);
    const slots = settings.in_flight_max + ahead(settings.in_flight_max, results.length);
    const room = slots - dispatch.busy();
    const take = campaign ? Math.min(room, bucket.available()) : 0;
    if (results.length > 0 || take > 0) {
      const asked_at = performance.now();
      const recording = results.length > 0;
      const marked = await turn(sender, campaign, take);
      moved ||= recording || marked.length > 0;
      bucket.spend(marked.length);
      dispatch.start(marked, asked_at);
      return true;
    }
    if (dispatch.busy() === 0 && (draining || !(await isWorthWaiting(sender)))) return false;
    const survey_in_ms = survey_ms - (performance.now() - surveyed_at);
    await rest(campaign && room > 0 ? Math.min(survey_in_ms, bucket.fullInMs()) : survey_in_ms);
    return true;
  };

  let going = true;
  let recovered = false;
  while (going && !lease.lost.aborted) {
    try {
      if (!recovered) await recover(sender);
      recovered = true;
      going = await round();
    } catch (err) {
      if (isLeaseLost(err)) break;
      app.log.warn({ err, account_id: lease.account_id }, "a sender's turn failed; trying again");
      surveyed_at = -Infinity;
      await rest(retry_ms);
    }
  }
  // What is under way ends in what the provider says, or unknown: the results are kept.
  dispatch.drain();
  await dispatch.ended();
}

/**
 * How many are marked beyond the slots, so that none waits for the database: as many as `ended` during
 * the turn before, from a tenth of the slots to a half. A kill leaves them unknown, so no more.
 */
function ahead(in_flight_max: number, ended: number): number {
  return Math.ceil(Math.min(in_flight_max / 2, Math.max(in_flight_max / 10, ended)));
}

/** First what this process itself still knows of the messages it sent, then what nobody knows. */
async function recover(sender: Sender): Promise<void> {
  await turn(sender, null, 0);
  await recoverDispatching(sender);
  await turn(sender, null, 0);
}

/** Records the results and marks the next messages; results that could not be recorded stay. */
async function turn(
  sender: Sender,
  campaign: CampaignWork | null,
  take: number,
): Promise<Marked[]> {
  const { app, lease, number_id, results } = sender;
  const batch = results.splice(0);
  const holder = { account_id: lease.account_id, number_id, fence: lease.fence };
  try {
    const { marked, seen, last_id } = await senderTurn(app, holder, batch, {
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
