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
 * Locks a campaign that has not ended: until the commit, no node leader claims its recipients. Lock the
 * campaign before its holds, as claims do. Refuses: not-found; conflict, with `done`, when it has ended.
 */
export function lockOpenVoiceCampaign(
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
