// Applies what customers say about further messages: opt-outs and opt-ins, by reply and at the provider.
import type { Selectable } from "kysely";
import { liftSuppressions } from "../../../audience/suppressions/lift-suppressions.ts";
import { copyOptOuts } from "../../../audience/suppressions/link-bsuids.ts";
import { findPersonKey, type Person } from "../../../audience/suppressions/person-key.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";
import type { Evidence, Scope } from "../../../audience/suppressions/suppression-schema.ts";
import type { WebhookPerson } from "../../../drivers/chat/driver.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import { statement, type DB } from "../../../lib/database/database.ts";
import { phoneKey } from "../../../lib/phone-key.ts";
import { optOutAtProvider } from "../internal/opt-out-at-provider.ts";
import type { EffectContext } from "./effect-context.ts";
import { recipientPerson } from "./refused-by-customer.ts";
import { replyRows } from "./reply-rows.ts";
import type { ReplyEvent, SideEffect } from "./sort-webhooks.ts";

type Recorded = Selectable<DB["chat_replies"]>;

const recordReplies = statement<Recorded>("select * from record_chat_replies($1, $2, $3)");

/** Suppresses the sender of a stop word, and the person whose message it answers. */
export async function optOutByReply(context: EffectContext, reply: ReplyEvent): Promise<void> {
  const { tx, account_id, now } = context;
  const recorded = await recordReply(context, reply, true);
  if (!recorded) return;
  const { chat_stop_scope: scope } = await tx
    .selectFrom("accounts")
    .select("chat_stop_scope")
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  for (const person of await peopleOf(context, reply, recorded))
    await suppress(
      tx,
      {
        account_id,
        person,
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
    data: { ...consentOf(context, recorded), scope: scope as Scope },
  });
}

/** Lifts what earlier replies of the sender suppressed, also under other numbers of theirs, and nothing else. */
export async function optInByReply(context: EffectContext, reply: ReplyEvent): Promise<void> {
  const { tx, account_id, now } = context;
  const recorded = await recordReply(context, reply, false);
  if (!recorded) return;
  const aliases = await aliasesOf(context, recorded);
  const people = inLockOrder([...(await peopleOf(context, reply, recorded)), ...aliases]);
  let isLifted = false;
  for (const person of people) {
    const lifting = { account_id, person, channel: "chat", source: "reply" } as const;
    isLifted = (await liftSuppressions(tx, { ...lifting, occurred_at: reply.at }, now)) || isLifted;
  }
  if (!isLifted) return;
  const data = consentOf(context, recorded);
  await recordEvent(tx, { account_id, type: "chat.optin", occurred_at: reply.at, data });
}

/** A reply that was stored before has no effect: its suppression may have been lifted since. */
async function recordReply(
  { tx, account_id, chat_number_id }: EffectContext,
  reply: ReplyEvent,
  opted_out: boolean,
): Promise<Recorded | undefined> {
  const rows = JSON.stringify(replyRows([reply], opted_out));
  const [recorded] = await recordReplies(tx, [account_id, chat_number_id, rows]);
  return recorded;
}

/**
 * Returns the sender and, if it differs, the person whose message the reply answers: a customer may answer from
 * another number. Such an answer also names the phone of a BSUID, which findConsentLinks has linked.
 */
async function peopleOf(
  { tx, account_id }: EffectContext,
  { from, bsuid }: ReplyEvent,
  { campaign_id, recipient_id }: Recorded,
): Promise<Person[]> {
  const sender = { phone: from, bsuid };
  if (campaign_id === null || recipient_id === null) return [sender];
  const recipient = await recipientPerson(tx, account_id, { campaign_id, recipient_id });
  if (recipient?.phone == null || recipient.phone === "") return [sender];
  const { phone } = recipient;
  if (from === null && bsuid !== null) return [{ phone, bsuid }];
  if (from !== null && phoneKey(from) === phoneKey(phone)) return [sender];
  return inLockOrder([sender, { phone }]);
}

const findAliases = statement<{ phone: string }>(
  "select alias_key as phone from phone_aliases where account_id = $1 and phone_key = $2",
);

/** Returns the other numbers under which the provider knows the sender: a STOP may have answered a message to one. */
async function aliasesOf(
  { tx, account_id }: EffectContext,
  { phone }: Recorded,
): Promise<Person[]> {
  return phone === null ? [] : findAliases(tx, [account_id, phoneKey(phone)]);
}

/** Returns each person once, in the order in which their suppressions are locked. */
function inLockOrder(people: readonly Person[]): Person[] {
  const keyOf = ({ phone, bsuid }: Person) => phoneKey(phone ?? bsuid ?? "");
  const byKey = new Map(people.toReversed().map((person) => [keyOf(person), person]));
  return [...byKey.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function evidenceOf(reply: Recorded): Evidence {
  const { id: reply_id, chat_number_id, provider_message_id: message_id, text } = reply;
  return { reply_id, chat_number_id, message_id, ...(text === null ? {} : { text }) };
}

/** The fields that the events of both directions share. */
function consentOf(
  { chat_number_id }: EffectContext,
  { id, phone, bsuid, campaign_id, recipient_id }: Recorded,
) {
  const of = { campaign_id, recipient_id };
  return {
    phone_number: phone,
    bsuid,
    source: "reply",
    chat_number_id,
    reply_id: id,
    ...of,
  } as const;
}

/**
 * Applies a customer's choice about marketing at the provider. A resume lifts only suppressions from the provider: it
 * cannot revoke a stop word or a manual entry. A choice older than the last one has no effect.
 */
export async function applyPreference(
  context: EffectContext,
  { from, bsuid, at, stop }: Extract<SideEffect, { kind: "preference" }>,
): Promise<void> {
  const { tx, account_id, chat_number_id, now } = context;
  const person = { phone: from, bsuid };
  if (stop) {
    const reason = "The customer stopped messages at the provider";
    return optOutAtProvider(tx, { account_id, person, chat_number_id }, reason, { at, now });
  }
  const lifting = { account_id, person, channel: "chat", source: "provider" } as const;
  if (!(await liftSuppressions(tx, { ...lifting, occurred_at: at }, now))) return;
  await recordEvent(tx, {
    account_id,
    type: "chat.optin",
    occurred_at: at,
    data: {
      phone_number: from,
      bsuid,
      source: "provider",
      chat_number_id,
      reply_id: null,
      campaign_id: null,
      recipient_id: null,
    },
  });
}

/** Suppresses a customer under a new number or BSUID for what they asked under the old one. */
export async function keepOptOuts(
  { tx, account_id, now }: EffectContext,
  { before, after }: Extract<SideEffect, { kind: "moved" }>,
): Promise<void> {
  const [old, person] = [before, after].map(asPerson) as [Person, Person];
  const person_key = await findPersonKey(tx, account_id, old);
  await copyOptOuts(tx, { account_id, person_key }, person, now);
}

function asPerson({ from, bsuid }: WebhookPerson): Person {
  return { phone: from, bsuid };
}
