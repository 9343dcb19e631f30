import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { ProviderNumber } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { Tx } from "../../lib/database/database.ts";
import { callProvider, driverOf } from "./call-provider.ts";
import type { ChatNumberResponse } from "./chat-number-schema.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { lockChatNumber } from "./internal/lock-chat-number.ts";

/**
 * Fetches the number's current state from the provider. Errors: not-found; validation-failed when the
 * provider does not know the number or denies access; unavailable when it is unreachable.
 */
export async function askForNumber(
  app: App,
  accountId: number,
  numberId: number,
): Promise<ProviderNumber> {
  const number = await findChatNumber(app.db.query, accountId, numberId);
  const driver = await driverOf(app, number.driver, accountId);
  return callProvider("provider_phone_number_id", () =>
    driver.findNumber({
      phone_number_id: number.provider_phone_number_id,
      business_account_id: number.business_account_id,
    }),
  );
}

/** Stores the number's quality rating and whether it may use the marketing route. */
export async function recordNumberState(
  tx: Tx,
  actor: Actor,
  numberId: number,
  { quality, marketing_onboarded }: ProviderNumber,
  now: Date,
): Promise<ChatNumberResponse> {
  const { account_id } = actor;
  await lockChatNumber(tx, account_id, numberId, "changes");
  await tx
    .updateTable("chat_numbers")
    .set({ quality, marketing_onboarded, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", numberId)
    .execute();
  await recordAudit(tx, actor, { at: now, action: "chat_number.synced", subject_id: numberId });
  return findChatNumber(tx, account_id, numberId);
}
