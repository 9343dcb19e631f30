import { addJob } from "../../engine/add-job.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";

/** Ends a running campaign that cannot go on; what it has not sent is skipped, uncharged, by wind-down-campaign. */
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
      kind: "chat.wind_down",
      subject: String(campaignId),
      run_at: now,
    },
    now,
  );
}
