import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { ChatNumberResponse, ChatNumberPatch } from "./chat-number-schema.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { phoneRouteOf, requireRoute } from "./chat-routes.ts";
import { lockChatNumber, refuseUnfinished } from "./internal/lock-chat-number.ts";

/**
 * Changes a number's name, rate or active flag and notifies `chat_work` after the commit. Errors:
 * not-found; conflict when deactivating a number with unfinished campaigns, or activating one that was taken from the
 * account.
 */
export async function updateChatNumber(
  tx: Tx,
  actor: Actor,
  numberId: number,
  patch: ChatNumberPatch,
  now: Date,
): Promise<ChatNumberResponse> {
  const { account_id } = actor;
  const stops = patch.active === false;
  const number = await lockChatNumber(tx, account_id, numberId, stops ? "campaigns" : "changes");
  if (stops) await refuseUnfinished(tx, account_id, numberId);
  if (patch.active === true) await requireRoute(tx, account_id, phoneRouteOf(number), numberId);
  await tx
    .updateTable("chat_numbers")
    .set({ ...patch, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", numberId)
    .execute();
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_number.updated",
    subject_id: numberId,
    detail: { changed: Object.keys(patch) },
  });
  return findChatNumber(tx, account_id, numberId);
}
