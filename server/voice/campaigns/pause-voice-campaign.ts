import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { hold } from "./holds.ts";
import { lockOpenVoiceCampaign, type OpenCampaign } from "./lock-open-voice-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/**
 * Pauses a campaign until it is resumed; calls in progress continue. Has no effect on a campaign that was
 * already paused manually. Refuses: not-found; conflict when the campaign has ended.
 */
export async function pauseVoiceCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
  detail: string | null = null,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenVoiceCampaign(tx, account_id, id, "paused");
  const held = { account_id, campaign_id: id };
  if (!(await hold(tx, held, { reason: "manual", detail }, now))) return campaign;
  const data = { paused_reason: "manual", detail } as const;
  const events = [{ type: "voice.campaign.paused", data }] as const;
  await recordCampaignEvents(tx, account_id, campaign, events, now);
  await recordAudit(tx, actor, { at: now, action: "voice_campaign.paused", subject_id: id });
  return campaign;
}
