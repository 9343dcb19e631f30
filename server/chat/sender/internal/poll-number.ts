// Polls the sender's number and campaigns, once a second and after a wake-up: what may be sent,
// what has finished, what fails too often, and what is marked but not known here.
import { chatDriverFor } from "../../credentials/chat-drivers.ts";
import { isDatabaseUnavailable } from "../../../lib/database/database-errors.ts";
import { completeChatCampaigns } from "../../campaigns/complete-chat-campaigns.ts";
import { openBreaker } from "./breaker.ts";
import { firstServed } from "./choose-campaign.ts";
import { keyOf, type Dispatch } from "./dispatch.ts";
import type { CampaignWork, Sender } from "./sender.ts";
import {
  findDispatching,
  findSenderNumber,
  setWorkAt,
  findOpenCampaigns,
  type CampaignState,
  type Slice,
} from "./sender-statements.ts";

/** Refreshes the sender's state and ends finished campaigns. */
export async function pollNumber(sender: Sender, dispatch: Dispatch): Promise<void> {
  const { app, lease, number_id, campaigns } = sender;
  const { account_id } = lease;
  sender.number = await findSenderNumber(app, account_id, number_id);
  sender.driver = chatDriverFor(app, sender.number.driver, sender.number);
  const states = await findOpenCampaigns(app, account_id, number_id);
  const finished = states.filter((found) => pendingOf(found) === 0);
  for (const found of finished) await endCampaign(sender, found);
  const open = states.filter((found) => !finished.includes(found));
  const known = new Set(open.map(({ campaign_id }) => campaign_id));
  for (const id of campaigns.keys()) if (!known.has(id)) campaigns.delete(id);
  for (const found of open) updateCampaign(sender, found);
  const standing = open.reduce((sum, { dispatching }) => sum + dispatching, 0);
  if (standing !== dispatch.busy() + sender.results.length) await giveBackUnknown(sender, dispatch);
}

/** After a restore, there may be millions of dispatching recipients. */
const recovered_max = 1_000;

/**
 * Marks recipients that a previous holder left as dispatching as unknown: they may have been sent. Calls `record` for each
 * 1,000 of them; the last ones stay in the sender's results. Stops when `record` returns false, and then returns false.
 */
export async function recoverDispatching(
  sender: Sender,
  record: () => Promise<boolean>,
): Promise<boolean> {
  const { app, lease, number_id, results, settings } = sender;
  const states = await findOpenCampaigns(app, lease.account_id, number_id, true);
  const due_at = new Date(app.clock.now().getTime() + settings.settle_ms);
  for (const { campaign_id } of states.filter(({ dispatching }) => dispatching > 0)) {
    let after = 0;
    for (let isLast = false; !isLast;) {
      const limit = recovered_max - results.length;
      const rows = await findOurs(sender, [campaign_id], { after, limit });
      for (const row of rows)
        results.push({ ...row, state: "unknown", error: "outcome_unknown", due_at });
      after = rows.reduce((last, { id }) => Math.max(last, id), after);
      isLast = rows.length < limit;
      if (!isLast && !(await record())) return false;
    }
  }
  return true;
}

const mismatch_look_ms = 60_000;

/** A campaign that violates an invariant stays open and stops no other campaign of the number. */
async function endCampaign({ app, lease }: Sender, found: CampaignState): Promise<void> {
  const { account_id } = lease;
  const { campaign_id } = found;
  try {
    await completeChatCampaigns(app, account_id, [campaign_id]);
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    app.log.error({ err, account_id, subject_id: campaign_id }, "a campaign cannot be completed");
    const next = new Date(app.clock.now().getTime() + mismatch_look_ms);
    await setWorkAt(app, account_id, [{ latest: found, next }]);
  }
}

function updateCampaign(sender: Sender, found: CampaignState): void {
  const { campaigns } = sender;
  let work = campaigns.get(found.campaign_id);
  if (!work) {
    work = {
      id: found.campaign_id,
      plan: null,
      breaker: openBreaker(),
      marketing_required: false,
      latest: found,
      after: 0,
      served: firstServed(sender),
      dry: false,
    };
    campaigns.set(work.id, work);
  }
  // The counts show recipients queued behind the cursor: resent, or skipped while locked.
  if (work.dry && found.queued > 0) work.after = 0;
  work.dry = false;
  work.latest = found;
  work.marketing_required &&= sender.effects.some(
    (effect) => effect.kind === "marketing_route" && effect.campaign_id === work.id,
  );
  checkFailureRate(sender, work);
}

function checkFailureRate(sender: Sender, work: CampaignWork): void {
  const { chat_error_percent } = sender.number;
  const isSending = work.latest.state === "running" && !work.latest.held;
  const percent = isSending ? work.breaker.checkFailureRate(work.latest, chat_error_percent) : null;
  if (percent !== null) {
    sender.effects.push({
      kind: "hold",
      scope: "campaign",
      subject_id: work.id,
      reason: "error_threshold",
      detail: `${Math.round(percent)}% of the last messages failed`,
      ends_at: null,
    });
    work.latest = { ...work.latest, held: true };
  }
  // A resumed campaign is measured by later attempts only.
  if (work.latest.held) work.breaker = openBreaker();
}

function pendingOf(found: CampaignState): number {
  return found.queued + found.deferred + found.dispatching + found.unknown;
}

/**
 * Returns to the queue what was marked by a statement whose answer was lost: under one lease no
 * other process can have sent it.
 */
async function giveBackUnknown(sender: Sender, dispatch: Dispatch): Promise<void> {
  const { app, results } = sender;
  const rows = await findOurs(sender, [...sender.campaigns.keys()]);
  // Computed after the query, because requests may have finished during it.
  const isRecorded = new Set(results.map(keyOf));
  for (const row of rows) {
    if (dispatch.has(row) || isRecorded.has(keyOf(row))) continue;
    results.push({ ...row, state: "deferred", due_at: app.clock.now() });
  }
}

/**
 * Returns the dispatching recipients. After the lease's time they may be another holder's, and are
 * ignored.
 */
async function findOurs({ app, lease }: Sender, campaignIds: readonly number[], slice?: Slice) {
  const rows = await findDispatching(app, lease.account_id, campaignIds, slice);
  return lease.mayProceed() ? rows : [];
}
