// Applies what customers say about further messages: opt-outs and opt-ins, by reply and at the provider.
import type { Selectable } from "kysely";
import { liftSuppressions } from "../../../audience/suppressions/lift-suppressions.ts";
import { copyOptOuts } from "../../../audience/suppressions/link-bsuids.ts";
import { findPersonKey, type Person } from "../../../audience/suppressions/person-key.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";
import {
  withoutWords,
  type Evidence,
  type Scope,
} from "../../../audience/suppressions/suppression-schema.ts";
import type { WebhookPerson } from "../../../drivers/chat/driver.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import { statement, type DB } from "../../../lib/database/database.ts";
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
  const people = await peopleOf(context, reply, recorded);
  const evidence = evidenceOf(recorded);
  for (const person of await inLockOrder(context, people))
    await suppress(
      tx,
      {
        account_id,
        person,
        channel: "chat",
        scope: scope as Scope,
        source: "reply",
        reason: "The customer replied with a stop word",
        evidence: person === people[0] ? evidence : withoutWords(evidence),
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
  const { tx, account_id } = context;
  const recorded = await recordReply(context, reply, false);
  if (!recorded) return;
  const people = await peopleOf(context, reply, recorded);
  const aliases = await aliasesOf(context, recorded);
  if (!(await lift(context, [...people, ...aliases], "reply", reply.at))) return;
  const data = consentOf(context, recorded);
  await recordEvent(tx, { account_id, type: "chat.optin", occurred_at: reply.at, data });
}

/** Lifts what the source suppressed of each person. Returns whether there was anything. */
async function lift(
  context: EffectContext,
  people: readonly Person[],
  source: "reply" | "provider",
  occurred_at: Date,
): Promise<boolean> {
  const { tx, account_id, now } = context;
  const lifting = { account_id, channel: "chat", source, occurred_at } as const;
  let isLifted = false;
  for (const person of await inLockOrder(context, people))
    isLifted = (await liftSuppressions(tx, { ...lifting, person }, now)) || isLifted;
  return isLifted;
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
 * another number or BSUID. Such an answer also names the phone of a BSUID, which findConsentLinks has linked.
 */
async function peopleOf(
  { tx, account_id }: EffectContext,
  reply: ReplyEvent,
  { campaign_id, recipient_id }: Recorded,
): Promise<Person[]> {
  const sender = identitiesOf(reply);
  if (campaign_id === null || recipient_id === null) return sender;
  const recipient = await recipientPerson(tx, account_id, { campaign_id, recipient_id });
  if (recipient === undefined || recipient.phone === "") return sender;
  const { from, bsuid } = reply;
  return from === null && recipient.phone !== null
    ? [{ phone: recipient.phone, bsuid }, ...sender]
    : [...sender, recipient];
}

/** Returns a customer by each BSUID; by the phone alone if it is known, because the BSUIDs are linked to it. */
function identitiesOf({ from, bsuid, parent_bsuid }: WebhookPerson): Person[] {
  const person = { phone: from, bsuid };
  return from !== null || parent_bsuid === undefined
    ? [person]
    : [person, { phone: null, bsuid: parent_bsuid }];
}

const findAliases = statement<{ phone: string }>(
  "select alias_key as phone from phone_aliases where account_id = $1 and phone_key = $2",
);

/** Returns the other numbers under which the provider knows the person: a stop may be stored under one. */
async function aliasesOf({ tx, account_id }: EffectContext, person: Person): Promise<Person[]> {
  return findAliases(tx, [account_id, await findPersonKey(tx, account_id, person)]);
}

/** Returns the first person of each key, in the order in which their suppressions are locked. */
async function inLockOrder(
  { tx, account_id }: EffectContext,
  people: readonly Person[],
): Promise<Person[]> {
  const byKey = new Map<string, Person>();
  for (const person of people) {
    const key = await findPersonKey(tx, account_id, person);
    if (!byKey.has(key)) byKey.set(key, person);
  }
  const ordered = [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return ordered.map(([, person]) => person);
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
 * Applies a customer's choice about marketing at the provider. A resume lifts only suppressions from the provider, also
 * under other numbers of the customer: it cannot revoke a stop word or a manual entry. A choice older than the last one
 * has no effect.
 */
export async function applyPreference(
  context: EffectContext,
  preference: Extract<SideEffect, { kind: "preference" }>,
): Promise<void> {
  const { tx, account_id, chat_number_id, now } = context;
  const { from, bsuid, at, stop } = preference;
  if (stop) {
    const people = await inLockOrder(context, identitiesOf(preference));
    const customer = { account_id, person: { phone: from, bsuid }, people, chat_number_id };
    const reason = "The customer stopped messages at the provider";
    return optOutAtProvider(tx, customer, reason, { at, now });
  }
  const aliases = await aliasesOf(context, { phone: from, bsuid });
  const people = [...identitiesOf(preference), ...aliases];
  if (!(await lift(context, people, "provider", at))) return;
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
