import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { chooseTrunk } from "../../telephony/trunks/choose-trunk.ts";
import {
  changeTrunk,
  findSubstitutes,
  findTrunkProblem,
  problemText,
} from "./internal/change-trunk.ts";
import { liftHolds } from "./holds.ts";
import { lockOpenVoiceCampaign, type OpenCampaign } from "./lock-open-voice-campaign.ts";
import { recordCampaignEvents } from "./internal/record-campaign-event.ts";

/**
 * Removes every hold of a campaign. A cause that persists, such as missing credit, sets its hold again. A
 * campaign that was paused because of its trunk continues over it if it can be used again, and otherwise over
 * another trunk of the same driver, which an event reports. A campaign without holds does not change. Send the
 * notification `voice_work` with its trunk after the commit. Refuses: not-found; conflict when the campaign has ended,
 * or no trunk can be used, except while it waits for the nodes of its own.
 */
export async function resumeVoiceCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<OpenCampaign> {
  const { account_id } = actor;
  const campaign = await lockOpenVoiceCampaign(tx, account_id, id, "resumed");
  const lifted = await liftHolds(tx, { account_id, campaign_id: id });
  if (lifted.length === 0) return campaign;
  const trunk_id = lifted.includes("trunk")
    ? await replaceTrunk(tx, account_id, campaign, now)
    : campaign.trunk_id;
  await recordCampaignEvents(
    tx,
    account_id,
    campaign,
    [{ type: "voice.campaign.resumed", data: {} }],
    now,
  );
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_campaign.resumed",
    subject_id: id,
    detail: { lifted },
  });
  return { ...campaign, trunk_id };
}

/** Moves a campaign whose trunk cannot be used; returns the trunk that it has then. Refuses: conflict without any. */
async function replaceTrunk(
  tx: Tx,
  account_id: number,
  { id, trunk_id }: OpenCampaign,
  now: Date,
): Promise<number> {
  const stranded = await findTrunkProblem(tx, { account_id, id });
  // Nodes come back by themselves.
  if (!stranded || stranded.problem === "unreachable") return trunk_id;
  const usable = await findSubstitutes(tx, stranded);
  const preferred = usable.filter((one) => one.trunk_id === stranded.fallback_trunk_id);
  const own = usable.filter((one) => one.trunk_id === trunk_id);
  const first = [own, preferred, usable].find((some) => some.length > 0);
  const chosen = first && chooseTrunk(first, 0);
  if (!chosen)
    throw new Refusal(
      "conflict",
      `The campaign cannot be resumed: ${problemText(stranded)}, and no other trunk can be used`,
    );
  await changeTrunk(tx, stranded, chosen.trunk_id, now);
  return chosen.trunk_id;
}
