import type { Actor } from "../../accounts/audit/record-audit.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { webhookId } from "./callback-body.ts";
import type { SentTest } from "./endpoint-schema.ts";
import { readEndpoint } from "./endpoints.ts";

/**
 * Records the event callback.test, which only this endpoint receives. Refuses: not-found; conflict when it is
 * disabled.
 */
export async function sendTestEvent(
  tx: Tx,
  { account_id }: Pick<Actor, "account_id">,
  id: number,
  now: Date,
): Promise<SentTest> {
  const { enabled } = await readEndpoint(tx, account_id, id);
  if (!enabled) throw new Refusal("conflict", "The endpoint is disabled: enable it first");
  const event_id = await recordEvent(tx, {
    account_id,
    type: "callback.test",
    occurred_at: now,
    data: { endpoint_id: id, message: "A test of this callback endpoint" },
  });
  return { webhook_id: webhookId(account_id, event_id) };
}
