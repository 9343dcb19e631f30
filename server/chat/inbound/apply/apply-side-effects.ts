// Applies opt-outs, template events and account events, each row in a short transaction that claims
// it first. No lease is needed: the row is deleted with its effect, and a row that another process
// has claimed is skipped.
import type { App } from "../../../engine/app.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { phoneKey } from "../../../lib/phone-key.ts";
import { wakeSenders } from "../../numbers/wake-senders.ts";
import { applyNumberChange, applyStanding, applyTemplateChange } from "./account-effects.ts";
import { applyPreference, keepOptOuts, optInByReply, optOutByReply } from "./consent-effects.ts";
import type { InboxNumber } from "./inbox.ts";
import type { EffectContext } from "./effect-context.ts";
import { refusedByCustomer } from "./refused-by-customer.ts";
import type { SideEffect, SortedWebhooks } from "./sort-webhooks.ts";

/** Applies the side effects of one row, deletes it and stores what is applied later. */
export async function applySideEffects(
  app: App,
  number: InboxNumber,
  { id, side_effects, later }: SortedWebhooks["side_effects"][number],
): Promise<void> {
  const now = app.clock.now();
  const woken: number[] = [];
  await app.db.query.transaction().execute(async (tx) => {
    const row = { account_id: number.account_id, id };
    if (!(await claim(tx, row))) return;
    const context = { ...number, app, tx, now, woken };
    // Suppressions are locked in the order of their keys; the other effects wait for no lock.
    for (const side_effect of side_effects.toSorted(byPerson)) await settle(context, side_effect);
    await tx
      .deleteFrom("chat_inbox")
      .where("account_id", "=", row.account_id)
      .where("id", "=", row.id)
      .execute();
    const { account_id, chat_number_id } = number;
    for (const { body, ...one } of later)
      await tx
        .insertInto("chat_inbox")
        .values({ account_id, chat_number_id, ...one, body: JSON.stringify(body) })
        .execute();
  });
  wakeSenders(app, number.account_id, woken);
}

async function claim(tx: Tx, { account_id, id }: { account_id: number; id: number }) {
  const claimed = await tx
    .selectFrom("chat_inbox")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  return claimed !== undefined;
}

function byPerson(a: SideEffect, b: SideEffect): number {
  const [first, second] = [personOf(a), personOf(b)];
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

function personOf(side_effect: SideEffect): string {
  const person = "reply" in side_effect ? side_effect.reply : side_effect;
  return "from" in person ? phoneKey(person.from ?? person.bsuid ?? "") : "";
}

async function settle(context: EffectContext, side_effect: SideEffect): Promise<void> {
  switch (side_effect.kind) {
    case "opt_out":
      return optOutByReply(context, side_effect.reply);
    case "opt_in":
      return optInByReply(context, side_effect.reply);
    case "preference":
      return applyPreference(context, side_effect);
    case "moved":
      return keepOptOuts(context, side_effect);
    case "refused_by_customer":
      return refusedByCustomer(context, side_effect);
    case "template":
      return applyTemplateChange(context, side_effect);
    case "number":
      return applyNumberChange(context, side_effect);
    case "account":
      return applyStanding(context, side_effect);
    case "unread":
      return keepUnread(context, side_effect);
  }
}

async function keepUnread(
  { app, tx, account_id, chat_number_id }: EffectContext,
  { reason, row, body }: Extract<SideEffect, { kind: "unread" }>,
): Promise<void> {
  app.log.warn({ account_id, subject_id: chat_number_id }, `kept an unread webhook: ${reason}`);
  await tx
    .insertInto("chat_unread_webhooks")
    .values({
      account_id,
      chat_number_id,
      driver: row.driver,
      body: JSON.stringify(body),
      reason,
      received_at: row.received_at,
    })
    .execute();
}
