import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { liftHolds } from "./internal/holds.ts";
import { lockOpenCampaign, type OpenCampaign } from "./lock-open-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/**
 * Removes every hold of a campaign. A cause that persists, such as missing credit, sets its hold again.
 * A campaign without holds does not change. Send the notification `voice_work` with its trunk after the
 * commit. Refuses: not-found; conflict when the campaign has ended.
 */
export async function resumeCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenCampaign(tx, account_id, id, "resumed");
  const lifted = await liftHolds(tx, { account_id, campaign_id: id });
  if (lifted.length === 0) return campaign;
  await recordCampaignEvents(
    tx,
    account_id,
    campaign,
    [{ type: "voice.campaign.resumed", data: {} }],
    now,
  );
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_campaign.resumed",
    subject_id: id,
    detail: { lifted },
  });
  return campaign;
}
