import { addJob } from "../../engine/add-job.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { deleteHoldsOfCampaigns } from "../holds/holds.ts";

/**
 * Fails a running campaign that cannot continue; drain-campaign skips the unsent recipients,
 * uncharged.
 */
export async function failCampaign(
  tx: Tx,
  accountId: number,
  campaignId: number,
  failure: string,
  now: Date,
): Promise<void> {
  const failed = await tx
    .updateTable("chat_campaigns")
    .set({ state: "failed", failure })
    .where("account_id", "=", accountId)
    .where("id", "=", campaignId)
    .where("state", "=", "running")
    .returning("name")
    .executeTakeFirst();
  if (!failed) return;
  await deleteHoldsOfCampaigns(tx, accountId, [campaignId]);
  await recordEvent(tx, {
    account_id: accountId,
    type: "chat.campaign.failed",
    occurred_at: now,
    data: { campaign_id: campaignId, name: failed.name, failure },
  });
  await addJob(
    tx,
    {
      account_id: accountId,
      kind: "chat.drain_campaign",
      subject: String(campaignId),
      run_at: now,
    },
    now,
  );
}
