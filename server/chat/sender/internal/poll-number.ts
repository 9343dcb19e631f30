// The sender's look at its number and campaigns, once a second and whenever something changed: what
// may be sent, what is finished, what fails too much, and what was marked without our knowing.
import { isDatabaseUnavailable } from "../../../lib/database/database-errors.ts";
import { completeCampaigns } from "../../campaigns/complete-campaigns.ts";
import { openBreaker } from "./breaker.ts";
import type { Dispatch } from "./dispatch.ts";
import type { CampaignWork, Sender } from "./sender.ts";
import {
  findDispatching,
  findPlan,
  findSenderNumber,
  setWorkAt,
  surveyCampaigns,
  type Survey,
} from "./sender-statements.ts";

/** Brings the sender's knowledge up to date, and ends the campaigns that are finished. */
export async function pollNumber(sender: Sender, dispatch: Dispatch): Promise<void> {
  const { app, lease, number_id, campaigns } = sender;
  const { account_id } = lease;
  sender.number = await findSenderNumber(app, account_id, number_id);
  sender.driver = app.chatDrivers[sender.number.driver];
  const surveys = await surveyCampaigns(app, account_id, number_id);
  const finished = surveys.filter((found) => pendingOf(found) === 0);
  for (const found of finished) await endCampaign(sender, found);
  const open = surveys.filter((found) => !finished.includes(found));
  const known = new Set(open.map(({ campaign_id }) => campaign_id));
  for (const id of campaigns.keys()) if (!known.has(id)) campaigns.delete(id);
  for (const found of open) await takeSurvey(sender, found);
  const standing = open.reduce((sum, { dispatching }) => sum + dispatching, 0);
  if (standing !== dispatch.busy() + sender.results.length) await giveBackUnknown(sender, dispatch);
}

/** What a holder before us left as being sent may have been sent: its outcome is unknown. */
export async function recoverDispatching(sender: Sender): Promise<void> {
  const { app, lease, number_id, results, settings } = sender;
  const surveys = await surveyCampaigns(app, lease.account_id, number_id);
  const ids = surveys.filter((found) => found.dispatching > 0).map((found) => found.campaign_id);
  const due_at = new Date(app.clock.now().getTime() + settings.settle_ms);
  for (const row of await findOurs(sender, ids))
    results.push({ ...row, state: "unknown", error: "outcome_unknown", due_at });
}

const mismatch_look_ms = 60_000;

/** One whose books are not in order stays open, and keeps no other campaign of the number from sending. */
async function endCampaign({ app, lease }: Sender, found: Survey): Promise<void> {
  const { account_id } = lease;
  const { campaign_id } = found;
  try {
    await completeCampaigns(app, account_id, [campaign_id]);
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    app.log.error({ err, account_id, subject_id: campaign_id }, "a campaign cannot be completed");
    const again_at = new Date(app.clock.now().getTime() + mismatch_look_ms);
    await setWorkAt(app, account_id, found, again_at);
  }
}

async function takeSurvey(sender: Sender, found: Survey): Promise<void> {
  const { app, lease, campaigns, number } = sender;
  let work = campaigns.get(found.campaign_id);
  if (!work) {
    work = {
      id: found.campaign_id,
      plan: await findPlan(app, lease.account_id, found.campaign_id),
      breaker: openBreaker(number.chat_error_percent),
      marketing: found.marketing,
      latest: found,
      after: 0,
      // Level with those that are there.
      served:
        campaigns.size === 0 ? 0 : Math.min(...[...campaigns.values()].map((of) => of.served)),
      dry: false,
    };
    campaigns.set(work.id, work);
  }
  // Counts say that some are queued behind the cursor: sent again by an operator, or passed over while locked.
  if (work.dry && found.queued > 0) work.after = 0;
  work.dry = false;
  work.latest = found;
  validateFailures(sender, work);
}

function validateFailures(sender: Sender, work: CampaignWork): void {
  const { chat_error_percent } = sender.number;
  const percent = work.latest.held ? null : work.breaker.validate(work.latest);
  if (percent !== null) {
    sender.effects.push({
      kind: "hold",
      scope: "campaign",
      subject_id: work.id,
      reason: "error_threshold",
      detail: `${Math.round(percent)}% of the last messages failed`,
    });
    work.latest = { ...work.latest, held: true };
  }
  // A resumed campaign is validated by what comes after.
  if (work.latest.held) work.breaker = openBreaker(chat_error_percent);
}

function pendingOf(found: Survey): number {
  return found.queued + found.deferred + found.dispatching + found.unknown;
}

/** Marked by a turn whose answer never came: under one lease nobody but us could have begun them. */
async function giveBackUnknown(sender: Sender, dispatch: Dispatch): Promise<void> {
  const { app, results } = sender;
  const rows = await findOurs(sender, [...sender.campaigns.keys()]);
  // Only now: what came to its end while the database was asked is no longer under way, but known.
  const isRecorded = new Set(results.map(({ campaign_id, id }) => `${campaign_id}:${id}`));
  for (const row of rows) {
    if (dispatch.has(row) || isRecorded.has(`${row.campaign_id}:${row.id}`)) continue;
    results.push({ ...row, state: "deferred", due_at: app.clock.now() });
  }
}

/** What is marked as being sent. Past our time it may be another's, who sends it; and results outlive a lease. */
async function findOurs({ app, lease }: Sender, campaignIds: readonly number[]) {
  const rows = await findDispatching(app, lease.account_id, campaignIds);
  return lease.mayAct() ? rows : [];
}
