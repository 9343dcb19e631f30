import type { Tx } from "../../../lib/database/database.ts";
import type { Person } from "../../../audience/suppressions/person-key.ts";
import { optOutAtProvider } from "../internal/opt-out-at-provider.ts";
import type { EffectContext } from "./effect-context.ts";
import type { SideEffect } from "./sort-webhooks.ts";

/** Suppresses the recipient of a message that failed because they opted out at the provider. */
export async function refusedByCustomer(
  { tx, account_id, chat_number_id, now }: EffectContext,
  { dispatch, at }: Extract<SideEffect, { kind: "refused_by_customer" }>,
): Promise<void> {
  const person = await recipientPerson(tx, account_id, dispatch);
  if (!person || person.phone === "") return;
  const reason = "The customer stopped messages at the provider";
  await optOutAtProvider(tx, { account_id, person, chat_number_id }, reason, { at, now });
}

/** Returns who a campaign's recipient is; the phone of an erased one is empty. */
export function recipientPerson(
  tx: Tx,
  accountId: number,
  { campaign_id, recipient_id }: { readonly campaign_id: number; readonly recipient_id: number },
): Promise<Person | undefined> {
  return tx
    .selectFrom("chat_recipients")
    .select(["phone", "bsuid"])
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaign_id)
    .where("id", "=", recipient_id)
    .executeTakeFirst();
}
