// What keeps messages from going out: a set, of which the API shows the highest-ranked. A campaign
// runs when nothing holds it, its template, its number or its account.
import { sql, type Kysely } from "kysely";
import Type, { type Static } from "typebox";
import type { DB, Tx } from "../../lib/database/database.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

export const hold_scopes = ["campaign", "template", "number", "account"] as const;
export type HoldScope = (typeof hold_scopes)[number];

/** Highest rank first: what needs a person most is shown. */
export const hold_reasons = [
  "auth",
  "sender_restricted",
  "template_paused",
  "credit",
  "error_threshold",
  "manual",
  "quiet_time",
] as const;
export type HoldReason = (typeof hold_reasons)[number];

export type HoldSubject = {
  readonly scope: HoldScope;
  /** 0 for the account. */
  readonly subject_id: number;
};

/** A hold as the API shows it. */
export const HoldAnswer = Type.Object({
  scope: Type.Enum(hold_scopes, { type: "string" }),
  subject_id: id("Of the campaign, template or number; 0 for the account"),
  reason: Type.Enum(hold_reasons, { type: "string" }),
  detail: nullable(Type.String({ description: "What the provider said, for example" })),
  set_at: timestamp("UTC"),
});
export type HoldAnswer = Static<typeof HoldAnswer>;

/** What of a campaign tells which holds concern it. */
export type HeldCampaign = {
  readonly id: number;
  readonly template_id: number | null;
  readonly chat_number_id: number;
};

/** Everything whose holds keep this campaign's messages back. */
export function holdSubjectsOf(campaign: HeldCampaign): HoldSubject[] {
  return [
    { scope: "campaign", subject_id: campaign.id },
    ...(campaign.template_id === null
      ? []
      : [{ scope: "template", subject_id: campaign.template_id } as const]),
    { scope: "number", subject_id: campaign.chat_number_id },
    { scope: "account", subject_id: 0 },
  ];
}

/** The holds on any of the subjects, highest rank first, oldest first within a rank. */
export async function holdsOf(
  db: Kysely<DB>,
  accountId: number,
  subjects: readonly HoldSubject[],
): Promise<HoldAnswer[]> {
  const scopes = subjects.map(({ scope }) => scope);
  const ids = subjects.map(({ subject_id }) => subject_id);
  const { rows } = await sql<HoldRow>`
    select distinct h.scope, h.subject_id, h.reason, h.detail, h.set_at
    from unnest(${scopes}::text[], ${ids}::bigint[]) s (scope, subject_id)
    join chat_holds h on h.account_id = ${accountId} and h.scope = s.scope and h.subject_id = s.subject_id
    `.execute(db);
  return rows
    .toSorted((a, b) => a.set_at.getTime() - b.set_at.getTime())
    .toSorted((a, b) => hold_reasons.indexOf(a.reason) - hold_reasons.indexOf(b.reason))
    .map(holdAnswerOf);
}

/** Why a campaign does not send, of holds in holdsOf's order: the highest-ranked that concerns it, or null. */
export function pausedReason(
  holds: readonly HoldAnswer[],
  campaign: HeldCampaign,
): HoldReason | null {
  const subjects = holdSubjectsOf(campaign);
  const concerns = (set: HoldAnswer) =>
    subjects.some(({ scope, subject_id }) => scope === set.scope && subject_id === set.subject_id);
  return holds.find(concerns)?.reason ?? null;
}

export type HoldRow = Omit<HoldAnswer, "set_at"> & { set_at: Date };

export function holdAnswerOf(row: HoldRow): HoldAnswer {
  return { ...row, set_at: row.set_at.toISOString() };
}

/**
 * Sets a hold and tells of each campaign that it pauses; false when it was there already, and then its
 * time and detail stay.
 */
export async function hold(
  tx: Tx,
  held: HoldSubject & {
    readonly account_id: number;
    readonly reason: HoldReason;
    readonly detail: string | null;
  },
  now: Date,
): Promise<boolean> {
  const { account_id, scope, subject_id, reason, detail } = held;
  // What is scheduled is paused by its own holds alone.
  const paused = scope === "campaign" ? ["scheduled", "running"] : ["running"];
  const { rows } = await sql<{ subject_id: number }>`
    with held as (
      insert into chat_holds (account_id, scope, subject_id, reason, detail, set_at)
      values (${account_id}, ${scope}, ${subject_id}, ${reason}, ${detail}, ${now})
      on conflict do nothing returning subject_id
    ), told as (
      insert into events (account_id, type, occurred_at, data)
      select ${account_id}::bigint, 'chat.campaign.paused', ${now}::timestamptz, json_build_object(
        'campaign_id', c.id, 'name', c.name, 'paused_reason', ${reason}::text)
      from chat_campaigns c
      where c.account_id = ${account_id} and c.finished_at is null and c.state = any (${paused}::text[])
        and ${concerned[scope](subject_id)} and exists (select from held)
      order by c.id
    )
    select subject_id from held`.execute(tx);
  return rows.length > 0;
}

/** What a lift changed. */
export type Lifted = {
  /** False when there was no such hold; then nothing was changed. */
  readonly lifted: boolean;
  /** The numbers whose senders have work again: notification `chat_work` for each, after the commit. */
  readonly number_ids: readonly number[];
};

/**
 * Takes a hold away and makes the running campaigns it concerned due at once; other holds on them
 * stay. Locks those campaigns first (the order of lockOpenCampaign).
 */
export async function liftHold(
  tx: Tx,
  held: HoldSubject & { readonly account_id: number; readonly reason: HoldReason },
  now: Date,
): Promise<Lifted> {
  const { account_id, scope, subject_id, reason } = held;
  const campaign_ids = await lockCampaigns(tx, account_id, held);
  const gone = await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", scope)
    .where("subject_id", "=", subject_id)
    .where("reason", "=", reason)
    .returning("subject_id")
    .executeTakeFirst();
  if (!gone) return { lifted: false, number_ids: [] };
  return { lifted: true, number_ids: await wakeCampaigns(tx, account_id, campaign_ids, now) };
}

const concerned: Readonly<
  Record<HoldScope, (subjectId: number) => ReturnType<typeof sql<boolean>>>
> = {
  campaign: (subjectId) => sql<boolean>`c.id = ${subjectId}`,
  template: (subjectId) => sql<boolean>`c.template_id = ${subjectId}`,
  number: (subjectId) => sql<boolean>`c.chat_number_id = ${subjectId}`,
  account: () => sql<boolean>`true`,
};

/** Locks the running campaigns that a hold concerns, in the order of their ids; none without the hold. */
async function lockCampaigns(
  tx: Tx,
  accountId: number,
  { scope, subject_id, reason }: HoldSubject & { readonly reason: HoldReason },
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select c.id from chat_campaigns c
    where c.account_id = ${accountId} and c.state = 'running' and ${concerned[scope](subject_id)}
      and exists (
        select from chat_holds h
        where h.account_id = ${accountId} and h.scope = ${scope} and h.subject_id = ${subject_id}
          and h.reason = ${reason})
    order by c.id
    for no key update`.execute(tx);
  return rows.map(({ id: campaign_id }) => campaign_id);
}

async function wakeCampaigns(
  tx: Tx,
  accountId: number,
  campaignIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const { rows } = await sql<{ chat_number_id: number }>`
    update chat_campaigns c set work_at = least(c.work_at, ${now}::timestamptz)
    where c.account_id = ${accountId} and c.id = any (${campaignIds}::bigint[])
    returning c.chat_number_id`.execute(tx);
  await tellResumed(tx, accountId, campaignIds, now);
  return [...new Set(rows.map(({ chat_number_id }) => chat_number_id))];
}

/**
 * Tells of those of the campaigns that go on, now that a hold was lifted: others may hold them still. Lock
 * them first, so that of two lifts at once the later sees what the earlier left.
 */
export async function tellResumed(
  tx: Tx,
  accountId: number,
  campaignIds: readonly number[],
  now: Date,
): Promise<void> {
  await sql`
    insert into events (account_id, type, occurred_at, data)
    select c.account_id, 'chat.campaign.resumed', ${now}::timestamptz,
      json_build_object('campaign_id', c.id, 'name', c.name)
    from chat_campaigns c
    where c.account_id = ${accountId} and c.id = any (${campaignIds}::bigint[]) and not exists (
      select from chat_holds h
      where h.account_id = ${accountId} and ((h.scope = 'campaign' and h.subject_id = c.id)
        or (c.state = 'running' and (h.scope = 'account'
          or (h.scope = 'template' and h.subject_id = c.template_id)
          or (h.scope = 'number' and h.subject_id = c.chat_number_id)))))
    order by c.id`.execute(tx);
}
