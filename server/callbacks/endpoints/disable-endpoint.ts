import { recordAudit } from "../../accounts/audit/record-audit.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";

/**
 * Disables a failing endpoint, unless it is already disabled or its URL has been changed. Records the change
 * in the audit trail and as the event callback.endpoint.disabled.
 */
export async function disableEndpoint(
  tx: Tx,
  endpoint: { readonly account_id: number; readonly endpoint_id: number; readonly url: string },
  reason: "failing" | "gone",
  now: Date,
): Promise<void> {
  const { account_id, endpoint_id, url } = endpoint;
  const disabled = await tx
    .updateTable("callback_endpoints")
    .set({ enabled: false, disabled_reason: reason, disabled_at: now, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", endpoint_id)
    .where("enabled", "=", true)
    .where("url", "=", url)
    .returning("id")
    .executeTakeFirst();
  if (!disabled) return;
  const actor = { account_id, user_id: null, token_id: null, request_id: "deliveries" };
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.disabled",
    subject_id: endpoint_id,
    detail: { reason },
  });
  await recordEvent(tx, {
    account_id,
    type: "callback.endpoint.disabled",
    occurred_at: now,
    data: { endpoint_id, url, reason },
  });
}
