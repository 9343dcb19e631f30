import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { recordResumed } from "../holds/holds.ts";
import { lockTemplateOf, revalidateCampaign } from "../templates/revalidate-campaigns.ts";
import { lockOpenChatCampaign } from "./internal/lock-open-chat-campaign.ts";

/** The holds that a person may lift; the number, template and account may still be held. */
const reasons_lifted = ["manual", "error_threshold"] as const;

/**
 * Lifts a campaign's own holds and makes it due at once; changes nothing without holds. A campaign whose
 * template has changed stays paused unless it fits the template again. Errors: not-found; conflict when
 * the campaign has ended.
 */
export async function resumeChatCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  await lockTemplateOf(tx, { account_id, id });
  const { state } = await lockOpenChatCampaign(tx, account_id, id, "resumed");
  const lifted = await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", "campaign")
    .where("subject_id", "=", id)
    .where("reason", "in", reasons_lifted)
    .returning("reason")
    .execute();
  await revalidateCampaign(tx, { account_id, id }, now);
  if (state === "running")
    await tx
      .updateTable("chat_campaigns")
      .set({ work_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
  if (lifted.length === 0) return;
  const reasons = lifted.map(({ reason }) => reason).toSorted();
  await recordResumed(tx, account_id, [id], now);
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_campaign.resumed",
    subject_id: id,
    detail: { lifted: reasons },
  });
}
