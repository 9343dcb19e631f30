import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { hold } from "../holds/holds.ts";
import { lockOpenChatCampaign } from "./internal/lock-open-chat-campaign.ts";

/**
 * Pauses a campaign until a person resumes it; has no effect when it is paused by hand already.
 * Errors: not-found; conflict when the campaign has ended.
 */
export async function pauseChatCampaign(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
  detail: string | null = null,
): Promise<void> {
  const { account_id } = actor;
  await lockOpenChatCampaign(tx, account_id, id, "paused");
  const held = { account_id, scope: "campaign", subject_id: id } as const;
  const isNew = await hold(tx, { ...held, reason: "manual", detail }, now);
  if (!isNew) return;
  await recordAudit(tx, actor, { at: now, action: "chat_campaign.paused", subject_id: id });
}
