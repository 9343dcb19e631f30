import { suppress } from "../../../audience/suppressions/suppress.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";

/**
 * Suppresses a customer who opted out at the provider and records the event once. `at` is the time
 * of the opt-out, if known.
 */
export async function optOutAtProvider(
  tx: Tx,
  customer: {
    readonly account_id: number;
    readonly phone: string;
    readonly chat_number_id: number;
  },
  reason: string,
  at: Date,
): Promise<void> {
  const { account_id, phone, chat_number_id } = customer;
  const entry = { account_id, phone, channel: "chat", reason, source: "provider" } as const;
  const isNew = await suppress(tx, { ...entry, expires_at: null, created_by: null }, at);
  if (!isNew) return;
  await recordEvent(tx, {
    account_id,
    type: "chat.optout",
    occurred_at: at,
    data: {
      phone_number: phone,
      source: "provider",
      chat_number_id,
      reply_id: null,
      campaign_id: null,
      recipient_id: null,
    },
  });
}
