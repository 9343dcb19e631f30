import { lockCampaign } from "../../../audience/recipients/lock-campaign.ts";
import type { Tx } from "../../../lib/database/database.ts";

/** Locks a campaign that has not ended until the commit. Call it before locking its holds. */
export function lockOpenChatCampaign(
  tx: Tx,
  account_id: number,
  campaign_id: number,
  done: string,
) {
  return lockCampaign<{ readonly name: string; readonly chat_number_id: number }>(
    tx,
    "chat_campaigns",
    ["name", "chat_number_id"],
    { account_id, campaign_id, done },
  );
}
