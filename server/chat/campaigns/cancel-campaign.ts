import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { lockOpenCampaign } from "./internal/lock-open-campaign.ts";

/**
 * Ends a campaign for good: within a second of the commit no request of it begins any more, and what
 * was not sent becomes cancelled, its credit given back, by wind-down-campaign (notification the job and
 * `chat_work` after the commit). Refuses: not-found; conflict when it is over.
 */
export async function cancelCampaign(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const { name } = await lockOpenCampaign(tx, account_id, id, "cancelled");
  // Nothing is left for them to hold.
  await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", "campaign")
    .where("subject_id", "=", id)
    .execute();
  await tx
    .updateTable("chat_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const job = { account_id, kind: "chat.wind_down", subject: String(id), run_at: now } as const;
  await addJob(tx, job, now);
  await recordEvent(tx, {
    account_id,
    type: "chat.campaign.cancelled",
    occurred_at: now,
    data: { campaign_id: id, name },
  });
  await recordAudit(tx, actor, { at: now, action: "chat_campaign.cancelled", subject_id: id });
}
