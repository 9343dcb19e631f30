import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { liftHolds } from "./holds.ts";
import { lockOpenVoiceCampaign, type OpenCampaign } from "./lock-open-voice-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/**
 * Cancels a campaign permanently. After the commit no recipient is claimed any more, and the job
 * voice.drain_campaign cancels those that were not called; send its notification after the commit. Calls in
 * progress continue. Refuses: not-found; conflict when the campaign has ended.
 */
export async function cancelVoiceCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenVoiceCampaign(tx, account_id, id, "cancelled");
  await liftHolds(tx, { account_id, campaign_id: id });
  await tx
    .updateTable("voice_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const job = {
    account_id,
    kind: "voice.drain_campaign",
    subject: String(id),
    run_at: now,
  } as const;
  await addJob(tx, job, now);
  await recordCampaignEvents(
    tx,
    account_id,
    campaign,
    [{ type: "voice.campaign.cancelled", data: {} }],
    now,
  );
  await recordAudit(tx, actor, { at: now, action: "voice_campaign.cancelled", subject_id: id });
  return campaign;
}
