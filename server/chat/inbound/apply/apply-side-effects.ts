// Applies opt-outs, template events and account events, each row in a short transaction that claims
// it first. No lease is needed: the row is deleted with its effect, and a row that another process
// has claimed is skipped.
import type { Selectable } from "kysely";
import { liftSuppressions } from "../../../audience/suppressions/lift-suppressions.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";
import type { Evidence, Scope } from "../../../audience/suppressions/suppression-schema.ts";
import type { App } from "../../../engine/app.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import { statement, type DB, type Tx } from "../../../lib/database/database.ts";
import { phoneKey } from "../../../lib/phone-key.ts";
import { wakeSenders } from "../../numbers/wake-senders.ts";
import { hold } from "../../holds/holds.ts";
import { optOutAtProvider } from "../internal/opt-out-at-provider.ts";
import { setTemplateStatus } from "../../templates/set-template-status.ts";
import type { InboxNumber } from "./inbox.ts";
import { replyRows } from "./reply-rows.ts";
import type { ReplyEvent, SideEffect } from "./sort-webhooks.ts";

type Place = InboxNumber & {
  readonly app: App;
  readonly tx: Tx;
  readonly now: Date;
  /** Numbers whose senders must be notified. */
  readonly woken: number[];
};

/** Applies the side effects of one row and deletes it. */
export async function applySideEffects(
  app: App,
  number: InboxNumber,
  { id, side_effects }: { readonly id: number; readonly side_effects: readonly SideEffect[] },
): Promise<void> {
  const now = app.clock.now();
  const woken: number[] = [];
  await app.db.query.transaction().execute(async (tx) => {
    const row = { account_id: number.account_id, id };
    if (!(await claim(tx, row))) return;
    const place = { ...number, app, tx, now, woken };
    // Suppressions are locked in the order of their keys; the other effects wait for no lock.
    for (const side_effect of side_effects.toSorted((a, b) => inKeyOrder(phoneOf(a), phoneOf(b))))
      await settle(place, side_effect);
    await tx
      .deleteFrom("chat_inbox")
      .where("account_id", "=", row.account_id)
      .where("id", "=", row.id)
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

function inKeyOrder(one: string, other: string): number {
  return phoneKey(one) < phoneKey(other) ? -1 : 1;
}

function phoneOf(side_effect: SideEffect): string {
  if (side_effect.kind === "opt_out") return side_effect.reply.from;
  return side_effect.kind === "preference" ? side_effect.from : "";
}

async function settle(place: Place, side_effect: SideEffect): Promise<void> {
  switch (side_effect.kind) {
    case "opt_out":
      return optOutByReply(place, side_effect.reply);
    case "preference":
      return side_effect.stop
        ? stopAtProvider(place, side_effect.from, side_effect.at)
        : resumeAtProvider(place, side_effect.from, side_effect.at);
    case "refused_by_customer": {
      const phone = await phoneOfRecipient(place, side_effect.dispatch);
      return phone === null ? undefined : stopAtProvider(place, phone, side_effect.at);
    }
    case "template":
      return applyTemplateChange(place, side_effect);
    case "account":
      return noteStanding(place, side_effect);
  }
}

const recordReplies = statement<Selectable<DB["chat_replies"]>>(
  "select * from record_chat_replies($1, $2, $3)",
);

/** A reply that was stored before has no effect: its suppression may have been lifted since. */
async function optOutByReply(place: Place, reply: ReplyEvent): Promise<void> {
  const { tx, account_id, chat_number_id, now } = place;
  const rows = JSON.stringify(replyRows([reply], true));
  const [recorded] = await recordReplies(tx, [account_id, chat_number_id, rows]);
  if (!recorded) return;
  const { campaign_id, recipient_id } = recorded;
  const written =
    campaign_id === null || recipient_id === null
      ? null
      : await phoneOfRecipient(place, { campaign_id, recipient_id });
  const { chat_stop_scope: scope } = await tx
    .selectFrom("accounts")
    .select("chat_stop_scope")
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  // A customer may have answered from another number than the one addressed.
  for (const phone of new Set([reply.from, written ?? reply.from].toSorted(inKeyOrder)))
    await suppress(
      tx,
      {
        account_id,
        person: { phone },
        channel: "chat",
        scope: scope as Scope,
        source: "reply",
        reason: "The customer replied with a stop word",
        evidence: evidenceOf(recorded),
        occurred_at: reply.at,
        expires_at: null,
        created_by: null,
      },
      now,
    );
  await recordEvent(tx, {
    account_id,
    type: "chat.optout",
    occurred_at: reply.at,
    data: {
      phone_number: reply.from,
      source: "reply",
      scope: scope as Scope,
      chat_number_id,
      reply_id: recorded.id,
      campaign_id,
      recipient_id,
    },
  });
}

function evidenceOf(reply: Selectable<DB["chat_replies"]>): Evidence {
  const { id: reply_id, chat_number_id, provider_message_id: message_id, text } = reply;
  return { reply_id, chat_number_id, message_id, text };
}

async function stopAtProvider(place: Place, phone: string, at: Date): Promise<void> {
  const { tx, account_id, chat_number_id, now } = place;
  const reason = "The customer stopped messages at the provider";
  await optOutAtProvider(tx, { account_id, person: { phone }, chat_number_id }, reason, {
    at,
    now,
  });
}

/**
 * Lifts only suppressions from the provider: it cannot revoke a stop word or a manual entry. A resume
 * older than the suppression lifts nothing.
 */
async function resumeAtProvider(place: Place, phone: string, at: Date): Promise<void> {
  const { tx, account_id, now } = place;
  const lifted = { account_id, person: { phone }, channel: "chat", source: "provider" } as const;
  await liftSuppressions(tx, { ...lifted, occurred_at: at }, now);
}

async function phoneOfRecipient(
  { tx, account_id }: Place,
  { campaign_id, recipient_id }: { campaign_id: number; recipient_id: number },
): Promise<string | null> {
  const recipient = await tx
    .selectFrom("chat_recipients")
    .select("phone")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .where("id", "=", recipient_id)
    .executeTakeFirst();
  return recipient?.phone ?? null;
}

async function applyTemplateChange(
  { tx, account_id, now, woken }: Place,
  { provider_template_id, ...change }: Extract<SideEffect, { kind: "template" }>,
): Promise<void> {
  const templates = await tx
    .selectFrom("chat_templates")
    .select("id")
    .where("account_id", "=", account_id)
    .where("provider_template_id", "=", provider_template_id)
    .orderBy("id")
    .execute();
  for (const { id } of templates) {
    const place = { account_id, template_id: id };
    woken.push(...(await setTemplateStatus(tx, place, change, now)).number_ids);
  }
}

/** Events after which the provider rejects the business account's messages until a person intervenes. */
const restrictions = /"event":"(?:ACCOUNT_RESTRICTION|ACCOUNT_DELETED|DISABLED_UPDATE)"/;

async function noteStanding(
  place: Place,
  { event, business_account_id }: Extract<SideEffect, { kind: "account" }>,
): Promise<void> {
  const { app, tx, account_id, now } = place;
  const kind = /^\w{1,64}/.exec(event)?.[0] ?? "something";
  app.log.warn({ account_id }, `the provider sent ${kind} about a business account`);
  if (!restrictions.test(event) || event.includes('"waba_ban_state":"REINSTATE"')) return;
  const numbers = await tx
    .selectFrom("chat_numbers")
    .select("id")
    .where("account_id", "=", account_id)
    .where("business_account_id", "=", business_account_id ?? "")
    .orderBy("id")
    .execute();
  for (const { id } of numbers) {
    const held = { account_id, scope: "number", subject_id: id } as const;
    await hold(tx, { ...held, reason: "sender_restricted", detail: event }, now);
  }
}
