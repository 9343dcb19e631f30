import type { Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { ProviderNumber } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { callProvider, driverOf } from "./call-provider.ts";
import type { ChatNumberResponse } from "./chat-number-schema.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { phoneRouteOf } from "./chat-routes.ts";
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
  const driver = await driverOf(app, phoneRouteOf(number), accountId);
  return callProvider("provider_phone_number_id", () =>
    driver.findNumber({
      phone_number_id: number.provider_phone_number_id,
      business_account_id: number.business_account_id,
    }),
  );
}

/** Stores the number's quality rating and whether it may use the marketing route, as a user requested. */
export async function recordNumberState(
  tx: Tx,
  actor: Actor,
  numberId: number,
  state: ProviderNumber,
  now: Date,
): Promise<ChatNumberResponse> {
  const { account_id } = actor;
  await lockChatNumber(tx, account_id, numberId, "changes");
  await storeNumberState(tx, { account_id, id: numberId }, state, now);
  await recordAudit(tx, actor, { at: now, action: "chat_number.synced", subject_id: numberId });
  return findChatNumber(tx, account_id, numberId);
}

/** Stores the same without a user. */
export async function storeNumberState(
  db: Kysely<DB>,
  { account_id, id }: { readonly account_id: number; readonly id: number },
  { quality, marketing_onboarded }: ProviderNumber,
  now: Date,
): Promise<void> {
  await db
    .updateTable("chat_numbers")
    .set({ quality, marketing_onboarded, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
}
