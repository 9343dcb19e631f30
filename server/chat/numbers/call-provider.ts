// A request to a chat provider on behalf of somebody who waits for the answer.
import { ChatSendError, type ChatDriver, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { Refusal, invalidField, unavailable } from "../../lib/errors.ts";

/** The driver, or a conflict that says what is not set up here. */
export function driverOf(app: App, name: ChatDriverName): ChatDriver {
  const driver = app.chatDrivers[name];
  if (driver) return driver;
  throw new Refusal("conflict", `This server is not set up for ${name}; its operator can do that`);
}

/**
 * What the provider answers. Its refusal is validation-failed on `field`, with its reason; when it is
 * out of reach, busy, or leaves open what happened, the answer is unavailable (503).
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
      throw invalidField(field, `is refused by the provider: ${error.message}`);
    }
    throw unavailable(error);
  }
}
