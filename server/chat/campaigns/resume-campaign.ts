import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { tellResumed } from "../holds/holds.ts";
import { lockOpenCampaign } from "./internal/lock-open-campaign.ts";

/** What a person's word is enough for; the campaign's number, template and account may still be held. */
const reasons_lifted = ["manual", "error_threshold"] as const;

/**
 * Lets a campaign go on as far as its own holds are concerned, and makes it due at once; one without
 * any is left as it is. Refuses: not-found; conflict when it is over.
 */
export async function resumeCampaign(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const { state } = await lockOpenCampaign(tx, account_id, id, "resumed");
  const lifted = await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", "campaign")
    .where("subject_id", "=", id)
    .where("reason", "in", reasons_lifted)
    .returning("reason")
    .execute();
  if (state === "running")
    await tx
      .updateTable("chat_campaigns")
      .set({ work_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
  if (lifted.length === 0) return;
  const reasons = lifted.map(({ reason }) => reason).toSorted();
  await tellResumed(tx, account_id, [id], now);
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_campaign.resumed",
    subject_id: id,
    detail: { lifted: reasons },
  });
}
