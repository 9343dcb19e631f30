import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { deleteHoldsOfCampaigns } from "../holds/holds.ts";
import { lockOpenChatCampaign } from "./internal/lock-open-chat-campaign.ts";

/**
 * Cancels a campaign: within a second of the commit no request of it begins, and drain-campaign
 * cancels the unsent recipients and releases their credit (notify the job and `chat_work` after the
 * commit). Errors: not-found; conflict when the campaign has ended.
 */
export async function cancelChatCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const { name } = await lockOpenChatCampaign(tx, account_id, id, "cancelled");
  await deleteHoldsOfCampaigns(tx, account_id, [id]);
  await tx
    .updateTable("chat_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const job = {
    account_id,
    kind: "chat.drain_campaign",
    subject: String(id),
    run_at: now,
  } as const;
  await addJob(tx, job, now);
  await recordEvent(tx, {
    account_id,
    type: "chat.campaign.cancelled",
    occurred_at: now,
    data: { campaign_id: id, name },
  });
  await recordAudit(tx, actor, { at: now, action: "chat_campaign.cancelled", subject_id: id });
}
