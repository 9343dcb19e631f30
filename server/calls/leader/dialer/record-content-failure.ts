import type { Call } from "../../state-machine/call.ts";
import type { Leader } from "../node/leader.ts";
import { retryUntilStored } from "../node/retry-until-stored.ts";
import { holdFailingCampaign } from "./hold-failing-campaign.ts";
import type { ContentFailure } from "./content-gate.ts";

/** Records a failure in the leader's content gate, and pauses a campaign that keeps failing. */
export async function recordContentFailure(
  { app, gate, lease }: Pick<Leader, "app" | "gate" | "lease">,
  campaign: Pick<Call, "account_id" | "campaign_id">,
  failure: ContentFailure,
  reason: string,
): Promise<void> {
  const detail = gate.failed(campaign, failure, reason);
  if (detail === null) return;
  await retryUntilStored({ app, lease }, () =>
    holdFailingCampaign(app.db, campaign, detail, app.clock.now()),
  );
}
