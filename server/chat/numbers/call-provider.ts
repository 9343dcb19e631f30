// Requests to a chat provider on behalf of a waiting API client.
import { ChatSendError, type ChatDriver, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { Refusal, invalidField, unavailable } from "../../lib/errors.ts";

/** Returns the driver. Errors: conflict when it is not configured. */
export function driverOf(app: App, name: ChatDriverName): ChatDriver {
  const driver = app.chatDrivers[name];
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
