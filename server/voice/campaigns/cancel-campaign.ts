import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { liftHolds } from "./internal/holds.ts";
import { lockOpenCampaign, type OpenCampaign } from "./lock-open-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/**
 * Ends a campaign for good: with the commit nobody of it is taken any more, and who was not called
 * becomes cancelled by wind-down-voice-campaign (notification the job after the commit). Calls under way go on to
 * their end. Refuses: not-found; conflict when it is over.
 */
export async function cancelCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenCampaign(tx, account_id, id, "cancelled");
  // Nothing is left for them to hold.
  await liftHolds(tx, { account_id, campaign_id: id });
  await tx
    .updateTable("voice_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const job = { account_id, kind: "voice.wind_down", subject: String(id), run_at: now } as const;
  await addJob(tx, job, now);
  await recordCampaignEvents(
    tx,
    account_id,
    campaign,
    [{ type: "voice.campaign.cancelled", more: {} }],
    now,
  );
  await recordAudit(tx, actor, { at: now, action: "voice_campaign.cancelled", subject_id: id });
  return campaign;
}
