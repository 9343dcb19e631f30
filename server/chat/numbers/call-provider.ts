// Requests to a chat provider on behalf of a waiting API client.
import { ChatSendError, type ChatDriver } from "../../drivers/chat/driver.ts";
import { findChatDriver } from "../credentials/chat-drivers.ts";
import type { App } from "../../engine/app.ts";
import { Refusal, invalidField, unavailable } from "../../lib/errors.ts";
import { requireRoute, type ChatRouteId } from "./chat-routes.ts";

/**
 * Returns the driver with the credential of the account. Errors: conflict when it is not configured, or when the account
 * does not have the ID at the provider that the request is about.
 */
export async function driverOf(
  app: App,
  route: ChatRouteId,
  account_id: number,
): Promise<ChatDriver> {
  await requireRoute(app.db.query, account_id, route);
  const name = route.driver;
  const driver = await findChatDriver(app, name, account_id);
  if (driver) return driver;
  throw new Refusal("conflict", `${name} is not configured on this server; contact its operator`);
}

/**
 * Returns the provider's response. Errors: validation-failed on `field` with the provider's reason when
 * it rejects the request; unavailable (503) when it is unreachable or busy or the outcome is unknown.
 */
export async function callProvider<Answer>(
  field: string,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ChatSendError)) throw error;
    if (error.failure === "rejected") {
      throw invalidField(field, `was rejected by the provider: ${error.message}`);
    }
    throw unavailable(error);
  }
}
