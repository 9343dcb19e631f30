import { lockCampaign } from "../../audience/recipients/lock-campaign.ts";
import type { Tx } from "../../lib/database/database.ts";

export type OpenCampaign = {
  readonly id: number;
  readonly public_id: string;
  readonly name: string;
  readonly trunk_id: number;
  readonly state: "scheduled" | "running";
};

/**
 * Locks a campaign that is not over yet: until the commit no leader takes recipients of it. Before its
 * holds, like the leaders' claims.
 */
export function lockOpenCampaign(
  tx: Tx,
  account_id: number,
  campaign_id: number,
  done: string,
): Promise<OpenCampaign> {
  return lockCampaign<Omit<OpenCampaign, "state">>(
    tx,
    "voice_campaigns",
    ["id", "public_id", "name", "trunk_id"],
    { account_id, campaign_id, done },
  );
}
