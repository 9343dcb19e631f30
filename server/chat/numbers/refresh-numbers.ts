import { ChatSendError, type ChatDriver } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { selectRouted } from "./chat-routes.ts";
import type { BusinessAccount } from "./schedule-template-sync.ts";
import { storeNumberState } from "./sync-chat-number.ts";

/**
 * Fetches the quality rating of each number of a business account, and whether it may use the marketing route, and
 * stores what changed. A number that the provider does not return is logged and keeps its values.
 */
export async function refreshNumbers(
  app: App,
  driver: ChatDriver,
  { account_id, driver: name, business_account_id }: BusinessAccount,
): Promise<void> {
  const numbers = await selectRouted(app.db.query, account_id)
    .select(["n.id", "n.provider_phone_number_id", "n.quality", "n.marketing_onboarded"])
    .where("n.driver", "=", name)
    .where("n.business_account_id", "=", business_account_id)
    .orderBy("n.id")
    .execute();
  for (const { id, provider_phone_number_id: phone_number_id, ...stored } of numbers) {
    try {
      const found = await driver.findNumber({ phone_number_id, business_account_id });
      const { quality, marketing_onboarded } = found;
      if (quality === stored.quality && marketing_onboarded === stored.marketing_onboarded)
        continue;
      await storeNumberState(app.db.query, { account_id, id }, found, app.clock.now());
    } catch (err) {
      if (!(err instanceof ChatSendError)) throw err;
      app.log.warn({ err, account_id, subject_id: id }, "a chat number could not be fetched");
    }
  }
}
