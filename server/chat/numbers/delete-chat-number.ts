import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { freeRoutes } from "./internal/free-routes.ts";
import { lockChatNumber } from "./internal/lock-chat-number.ts";

/**
 * Deletes a number that has no campaigns and releases its provider IDs. Errors: not-found; conflict
 * for a number with campaigns, which can only be deactivated.
 */
export async function deleteChatNumber(
  tx: Tx,
  actor: Actor,
  numberId: number,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const number = await lockChatNumber(tx, account_id, numberId, "campaigns");
  await refuseUsed(tx, account_id, numberId);
  await tx
    .deleteFrom("chat_numbers")
    .where("account_id", "=", account_id)
    .where("id", "=", numberId)
    .execute();
  await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", "number")
    .where("subject_id", "=", numberId)
    .execute();
  await freeRoutes(tx, account_id, number);
  await recordAudit(tx, actor, { at: now, action: "chat_number.deleted", subject_id: numberId });
}

async function refuseUsed(tx: Tx, accountId: number, numberId: number): Promise<void> {
  const campaign = await tx
    .selectFrom("chat_campaigns")
    .select("id")
    .where("account_id", "=", accountId)
    .where("chat_number_id", "=", numberId)
    .limit(1)
    .executeTakeFirst();
  if (campaign) {
    throw new Refusal(
      "conflict",
      "Campaigns were sent from this number, so it cannot be deleted; make it inactive with active: false",
    );
  }
}
