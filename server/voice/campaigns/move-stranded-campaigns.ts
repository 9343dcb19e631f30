// Open campaigns whose trunk cannot be used: their carrier and caller ID never change silently.
import { lockIfUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import type { App } from "../../engine/app.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import {
  changeTrunk,
  findSubstitutes,
  findTrunkProblem,
  problemText,
  strandedCampaigns,
  type StrandedCampaign,
} from "./internal/change-trunk.ts";
import { hold } from "./holds.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

const findStranded = statement<StrandedCampaign>(
  strandedCampaigns(`${isUnfrozen("v")} and not exists (
    select from voice_holds h
    where h.account_id = v.account_id and h.campaign_id = v.id and h.reason = 'trunk')`),
);

/**
 * Runs one iteration: moves each open campaign whose trunk was deactivated, reserved for another account or
 * is out of reach to the fall-back trunk that the operator named. Pauses the others until a user resumes them,
 * except those whose trunk's nodes are inactive or lost: they wait for the nodes. Those of a frozen account
 * wait for the end of the freeze. Returns 0, because campaigns without an alternative cannot be retried sooner.
 */
export async function moveStrandedCampaigns(app: App): Promise<number> {
  for (const found of await findStranded(app.db.pool, [])) {
    const now = app.clock.now();
    const trunk_id = await app.db.query.transaction().execute((tx) => moveOrPause(tx, found, now));
    if (trunk_id === null) continue;
    const { account_id, id: campaign_id } = found;
    app.log.info({ account_id, campaign_id, trunk_id }, "voice campaign moved to another trunk");
    app.notifications.send("voice_work", String(trunk_id));
  }
  return 0;
}

/** Returns the trunk that the campaign was moved to, or null. */
async function moveOrPause(
  tx: Tx,
  { account_id, id }: StrandedCampaign,
  now: Date,
): Promise<number | null> {
  if (!(await lockIfUnfrozen(tx, account_id))) return null;
  // Claims, controls and other workers lock the campaign first, too.
  await tx
    .selectFrom("voice_campaigns")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .execute();
  const campaign = await findTrunkProblem(tx, { account_id, id });
  if (!campaign) return null;
  const trunk_id = await findFallback(tx, campaign);
  if (trunk_id !== null) {
    await changeTrunk(tx, campaign, trunk_id, now);
    return trunk_id;
  }
  if (campaign.problem === "unreachable") return null;
  const reason = "trunk" as const;
  const detail = problemText(campaign);
  if (!(await hold(tx, { account_id, campaign_id: id }, { reason, detail }, now))) return null;
  const data = { paused_reason: reason, detail };
  const events = [{ type: "voice.campaign.paused", data }] as const;
  await recordCampaignEvents(tx, account_id, campaign, events, now);
  return null;
}

/** Returns the named fall-back trunk if the campaign can continue over it; null otherwise. */
async function findFallback(tx: Tx, campaign: StrandedCampaign): Promise<number | null> {
  const { fallback_trunk_id, problem } = campaign;
  if (fallback_trunk_id === null || problem === "caller_id") return null;
  const trunks = await findSubstitutes(tx, campaign);
  const isUsable = trunks.some(
    // A deactivated trunk does not come back by itself: its campaigns can as well wait on the other one.
    (one) => one.trunk_id === fallback_trunk_id && (one.connected || problem !== "unreachable"),
  );
  return isUsable ? fallback_trunk_id : null;
}
