// Stores holds, which stop messages; the API shows the highest-ranked one. A campaign runs when it, its
// template, its number and its account have no hold.
import { sql, type Kysely } from "kysely";
import Type, { type Static } from "typebox";
import { recordEvent } from "../../engine/record-event.ts";
import { statement, type DB, type Tx } from "../../lib/database/database.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

export const hold_scopes = ["campaign", "template", "number", "account"] as const;
export type HoldScope = (typeof hold_scopes)[number];

/** Highest rank first: the reasons that most need a person's attention. */
export const hold_reasons = [
  "auth",
  "sender_restricted",
  "template_paused",
  "template_changed",
  "credit",
  "error_threshold",
  "manual",
  "throttled",
  "quiet_time",
] as const;
export type HoldReason = (typeof hold_reasons)[number];

export type HoldSubject = {
  readonly scope: HoldScope;
  /** 0 when the scope is the account. */
  readonly subject_id: number;
};

/** A hold in an API response. */
export const HoldResponse = Type.Object(
  {
    scope: Type.Enum(hold_scopes, { type: "string" }),
    subject_id: id("Of the campaign, template or number; 0 for the account"),
    reason: Type.Enum(hold_reasons, { type: "string" }),
    detail: nullable(Type.String({ description: "What the provider said, for example" })),
    set_at: timestamp("UTC"),
    ends_at: nullable(timestamp("UTC: when it ends by itself; null: when it is lifted")),
  },
  { title: "ChatHold" },
);
export type HoldResponse = Static<typeof HoldResponse>;

/** The fields of a campaign that determine which holds apply. */
export type HeldCampaign = {
  readonly id: number;
  readonly template_id: number | null;
  readonly chat_number_id: number;
};

/** Returns every subject whose holds stop this campaign's messages. */
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

/** Returns the holds on any of the subjects, highest rank first, oldest first within a rank. */
export async function holdsOf(
  db: Kysely<DB>,
  accountId: number,
  subjects: readonly HoldSubject[],
): Promise<HoldResponse[]> {
  const scopes = subjects.map(({ scope }) => scope);
  const ids = subjects.map(({ subject_id }) => subject_id);
  const { rows } = await sql<HoldRow>`
    select distinct h.scope, h.subject_id, h.reason, h.detail, h.set_at, h.ends_at
    from unnest(${scopes}::text[], ${ids}::bigint[]) s (scope, subject_id)
    join chat_holds h on h.account_id = ${accountId} and h.scope = s.scope and h.subject_id = s.subject_id
    `.execute(db);
  return rows
    .toSorted((a, b) => a.set_at.getTime() - b.set_at.getTime())
    .toSorted((a, b) => hold_reasons.indexOf(a.reason) - hold_reasons.indexOf(b.reason))
    .map(holdResponseOf);
}

/**
 * Records that a campaign which begins to run is paused by a hold that was set before, if there is one: `hold` records the
 * pauses of campaigns that already run. Locks the number until the commit, as whoever holds it does before: a hold at the
 * same time is either seen here, or sees the campaign. Lock the template before.
 */
export async function recordHeldStart(
  tx: Tx,
  accountId: number,
  campaign: HeldCampaign & { readonly name: string },
  now: Date,
): Promise<void> {
  const { id: campaign_id, name } = campaign;
  await lockNumber(tx, [accountId, campaign.chat_number_id]);
  const [highest] = await holdsOf(tx, accountId, holdSubjectsOf(campaign));
  if (!highest) return;
  await recordEvent(tx, {
    account_id: accountId,
    type: "chat.campaign.paused",
    occurred_at: now,
    data: { campaign_id, name, paused_reason: highest.reason },
  });
}

const lockNumber = statement(
  "select from chat_numbers where account_id = $1 and id = $2 for no key update",
);

/** Returns the first hold's reason that applies to the campaign, or null; `holds` in holdsOf's order. */
export function pausedReason(
  holds: readonly HoldResponse[],
  campaign: HeldCampaign,
): HoldReason | null {
  const subjects = holdSubjectsOf(campaign);
  const concerns = (set: HoldResponse) =>
    subjects.some(({ scope, subject_id }) => scope === set.scope && subject_id === set.subject_id);
  return holds.find(concerns)?.reason ?? null;
}

export type HoldRow = Omit<HoldResponse, "set_at" | "ends_at"> & {
  set_at: Date;
  ends_at: Date | null;
};

export function holdResponseOf(row: HoldRow): HoldResponse {
  const { set_at, ends_at } = row;
  return { ...row, set_at: set_at.toISOString(), ends_at: ends_at?.toISOString() ?? null };
}

/**
 * Sets a hold and records an event for each campaign that it pauses. Returns false and keeps its time
 * and detail when it is already set; a later end replaces its end. Returns false for a campaign that is
 * neither scheduled nor running, because nothing would remove its hold. Locks a campaign before its hold.
 */
export async function hold(
  tx: Tx,
  held: HoldSubject & {
    readonly account_id: number;
    readonly reason: HoldReason;
    readonly detail: string | null;
    /** When it ends by itself; the caller schedules the job that lifts it. */
    readonly ends_at?: Date | null;
  },
  now: Date,
): Promise<boolean> {
  const { account_id, scope, subject_id, reason, detail, ends_at = null } = held;
  if (scope === "campaign" && (await lockOpenCampaign(tx, [account_id, subject_id])).length === 0)
    return false;
  const { rows } = await sql<{ subject_id: number }>`
    with held as (
      insert into chat_holds as h (account_id, scope, subject_id, reason, detail, set_at, ends_at)
      values (${account_id}, ${scope}, ${subject_id}, ${reason}, ${detail}, ${now}, ${ends_at})
      on conflict (account_id, scope, subject_id, reason) do update set ends_at = excluded.ends_at
        where h.ends_at < excluded.ends_at
      returning subject_id, (xmax = 0) as is_new
    ), recorded as (
      insert into events (account_id, type, occurred_at, data)
      select ${account_id}::bigint, 'chat.campaign.paused', ${now}::timestamptz, json_build_object(
        'campaign_id', c.id, 'name', c.name, 'paused_reason', ${reason}::text)
      from chat_campaigns c
      where c.account_id = ${account_id} and c.finished_at is null and c.state = any (${pausedStates(scope)}::text[])
        and ${concerned[scope](subject_id)} and exists (select from held where is_new)
      order by c.id
    )
    select subject_id from held where is_new`.execute(tx);
  return rows.length > 0;
}

/** A scheduled campaign is paused only by its own holds. */
const pausedStates = (scope: HoldScope): readonly string[] =>
  scope === "campaign" ? ["scheduled", "running"] : ["running"];

const lockOpenCampaign = statement(`
  select from chat_campaigns where account_id = $1 and id = $2 and state in ('scheduled', 'running')
  for no key update`);

/** Removes the holds of campaigns that end and have nothing left to stop. Lock the campaigns first. */
export async function deleteHoldsOfCampaigns(
  tx: Tx,
  accountId: number,
  campaignIds: readonly number[],
): Promise<void> {
  await deleteCampaignHolds(tx, [accountId, campaignIds]);
}

const deleteCampaignHolds = statement(
  "delete from chat_holds where account_id = $1 and scope = 'campaign' and subject_id = any ($2::bigint[])",
);

/** The result of lifting a hold. */
export type Lifted = {
  /** False when the hold did not exist and nothing changed. */
  readonly lifted: boolean;
  /** The chat numbers to notify on `chat_work` after the commit. */
  readonly number_ids: readonly number[];
};

/**
 * Removes a hold and makes the affected running campaigns due at once; their other holds stay. Locks
 * the paused campaigns first (the order of lockOpenChatCampaign). With `until`, a hold that ends later stays.
 */
export async function liftHold(
  tx: Tx,
  held: HoldSubject & {
    readonly account_id: number;
    readonly reason: HoldReason;
    readonly until?: Date;
  },
  now: Date,
): Promise<Lifted> {
  const { account_id, scope, subject_id, reason, until = null } = held;
  const of = [account_id, scope, subject_id, reason];
  if ((await findHold(tx, of)).length === 0) return { lifted: false, number_ids: [] };
  const campaign_ids = await lockCampaigns(tx, account_id, held);
  // It may have been extended while the campaigns were locked.
  const gone = await deleteHold(tx, [...of, until]);
  if (gone.length === 0) return { lifted: false, number_ids: [] };
  return { lifted: true, number_ids: await wakeCampaigns(tx, account_id, campaign_ids, now) };
}

const findHold = statement(
  "select from chat_holds where account_id = $1 and scope = $2 and subject_id = $3 and reason = $4",
);

const deleteHold = statement(`
  delete from chat_holds where account_id = $1 and scope = $2 and subject_id = $3 and reason = $4
    and ($5::timestamptz is null or ends_at <= $5)
  returning subject_id`);

const concerned: Readonly<
  Record<HoldScope, (subjectId: number) => ReturnType<typeof sql<boolean>>>
> = {
  campaign: (subjectId) => sql<boolean>`c.id = ${subjectId}`,
  template: (subjectId) => sql<boolean>`c.template_id = ${subjectId}`,
  number: (subjectId) => sql<boolean>`c.chat_number_id = ${subjectId}`,
  account: () => sql<boolean>`true`,
};

/** Locks the campaigns that a hold pauses, ordered by ID. */
async function lockCampaigns(
  tx: Tx,
  accountId: number,
  { scope, subject_id }: HoldSubject,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select c.id from chat_campaigns c
    where c.account_id = ${accountId} and c.state = any (${pausedStates(scope)}::text[])
      and ${concerned[scope](subject_id)}
    order by c.id
    for no key update`.execute(tx);
  return rows.map(({ id: campaign_id }) => campaign_id);
}

/** Every running campaign's `work_at` changes, so that a sender that read the hold does not overwrite it. */
async function wakeCampaigns(
  tx: Tx,
  accountId: number,
  campaignIds: readonly number[],
  now: Date,
): Promise<number[]> {
  const { rows } = await sql<{ chat_number_id: number }>`
    update chat_campaigns c set work_at = ${now}
    where c.account_id = ${accountId} and c.id = any (${campaignIds}::bigint[]) and c.state = 'running'
    returning c.chat_number_id`.execute(tx);
  await recordResumed(tx, accountId, campaignIds, now);
  return [...new Set(rows.map(({ chat_number_id }) => chat_number_id))];
}

// Citus refuses an insertion from a query with `not exists` beside the campaigns.
const insertResumed = statement(`
  insert into events (account_id, type, occurred_at, data)
  select $1, 'chat.campaign.resumed', $3::timestamptz, json_build_object('campaign_id', r.id, 'name', r.name)
  from (
    select c.id, c.name, exists (
      select from chat_holds h
      where h.account_id = $1 and ((h.scope = 'campaign' and h.subject_id = c.id)
        or (c.state = 'running' and (h.scope = 'account'
          or (h.scope = 'template' and h.subject_id = c.template_id)
          or (h.scope = 'number' and h.subject_id = c.chat_number_id))))) as is_held
    from chat_campaigns c where c.account_id = $1 and c.id = any ($2::bigint[])) r
  where not r.is_held
  order by r.id`);

/**
 * Records an event for each campaign that resumes after a lifted hold; others may still be held.
 * Lock the campaigns first, so that of two concurrent lifts the later sees the earlier.
 */
export async function recordResumed(
  tx: Tx,
  accountId: number,
  campaignIds: readonly number[],
  now: Date,
): Promise<void> {
  await insertResumed(tx, [accountId, campaignIds, now]);
}
