import type { Person } from "../../../audience/suppressions/person-key.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";

/**
 * Suppresses marketing to a customer who stopped it at the provider, which offers no other opt-out, and
 * records the event once. `at` is the time of the opt-out, if known.
 */
export async function optOutAtProvider(
  tx: Tx,
  customer: {
    readonly account_id: number;
    readonly person: Person;
    /** All that the customer is known as, in the order of their keys; by default the person alone. */
    readonly people?: readonly Person[];
    readonly chat_number_id: number;
  },
  reason: string,
  { at, now }: { readonly at: Date; readonly now: Date },
): Promise<void> {
  const { account_id, person, people = [person], chat_number_id } = customer;
  const suppression = {
    account_id,
    channel: "chat",
    scope: "marketing",
    source: "provider",
    reason,
    evidence: { chat_number_id },
    occurred_at: at,
    expires_at: null,
    created_by: null,
  } as const;
  let isNew = false;
  for (const one of people)
    isNew = (await suppress(tx, { ...suppression, person: one }, now)) || isNew;
  if (!isNew) return;
  await recordEvent(tx, {
    account_id,
    type: "chat.optout",
    occurred_at: at,
    data: {
      phone_number: person.phone,
      bsuid: person.bsuid ?? null,
      source: "provider",
      scope: "marketing",
      chat_number_id,
      reply_id: null,
      campaign_id: null,
      recipient_id: null,
    },
  });
}
