import { recordEvent } from "../engine/record-event.ts";
import type { Tx } from "../lib/database.ts";

/** Records news of a campaign, in the transaction of the change. */
export async function recordCampaignEvent(
  tx: Tx,
  account_id: number,
  campaign: { readonly id: number; readonly public_id: string; readonly name: string },
  news: {
    readonly what:
      | "created"
      | "started"
      | "paused"
      | "resumed"
      | "completed"
      | "cancelled"
      | "failed";
    readonly more?: Readonly<Record<string, unknown>>;
  },
  now: Date,
): Promise<void> {
  const { id: campaign_id, public_id: id, name } = campaign;
  await recordEvent(tx, {
    account_id,
    type: `voice.campaign.${news.what}`,
    occurred_at: now,
    data: { campaign_id, id, name, ...news.more },
  });
}
