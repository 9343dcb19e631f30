// How an account does today, and what waits for a person. Every statement reads only today's rows, or a bounded
// number of the newest.
import { sql, type Kysely } from "kysely";
import type { Caller } from "../accounts/caller.ts";
import { maySee, type Need } from "../accounts/may-see.ts";
import type { Permission } from "../accounts/permissions.ts";
import { holdResponseOf, type HoldRow } from "../chat/holds/holds.ts";
import type { CreditKind } from "../credits/credit-schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { Database, DB } from "../lib/database/database.ts";
import { searches } from "../lib/database/searches.ts";
import type { HoldReason } from "../voice/campaigns/holds.ts";
import { callOutcome } from "./count-calls.ts";
import { midnightBefore } from "./report-range.ts";
import { counted_max, listed_max, type Overview } from "./overview-schema.ts";

/** A template that was rejected longer ago has been dealt with. */
const rejected_days = 30;

const needs = {
  chat: { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage"] },
  calls: { features: ["calls", "voice"], anyOf: ["calls.read", "calls.manage"] },
  voice: { features: ["voice"], anyOf: ["voice.campaigns.read", "voice.campaigns.manage"] },
  credits: { anyOf: ["credits.read"] },
  callbacks: { anyOf: ["callbacks.read", "callbacks.manage"] },
} as const satisfies Record<string, Need>;

/** Every permission that shows some part. */
export const overview_permissions: readonly Permission[] = Object.values(needs).flatMap(
  ({ anyOf }) => anyOf,
);

/** Reads the parts that the caller may see; the others are null. */
export async function readOverview(
  { db: { query: db }, clock }: { readonly db: Database; readonly clock: Clock },
  caller: Caller,
): Promise<Overview> {
  const { id, time_zone } = caller.account;
  const now = clock.now();
  const since = midnightBefore(now, 0, time_zone);
  const see = (need: Need) => maySee(caller, need);
  return searches.use(id, async () => ({
    since: since.toISOString(),
    chat: see(needs.chat) ? await countMessages(db, id, since) : null,
    calls: see(needs.calls) ? await countCalls(db, id, since) : null,
    credits: see(needs.credits) ? await readCredits(db, id) : null,
    chat_holds: see(needs.chat) ? await listChatHolds(db, id) : null,
    voice_holds: see(needs.voice) ? await listVoiceHolds(db, id) : null,
    failing_callbacks: see(needs.callbacks) ? await listFailingEndpoints(db, id) : null,
    rejected_templates: see(needs.chat) ? await listRejectedTemplates(db, id, now) : null,
  }));
}

/** Adds up the minutes since then of all campaigns: statuses arrive long after a campaign has finished. */
async function countMessages(
  db: Kysely<DB>,
  accountId: number,
  since: Date,
): Promise<NonNullable<Overview["chat"]>> {
  const { rows } = await sql<NonNullable<Overview["chat"]>>`
    select m.*, r.replies from (
      select coalesce(sum(m.sent), 0)::bigint as sent, coalesce(sum(m.delivered), 0)::bigint as delivered,
        coalesce(sum(m.failed), 0)::bigint as failed
      from chat_minutes m where m.account_id = ${accountId} and m.minute >= ${since}
    ) m cross join (
      select count(*) as replies from (
        select from chat_replies r where r.account_id = ${accountId} and r.received_at >= ${since}
        limit ${counted_max}) r
    ) r`.execute(db);
  return rows[0]!;
}

async function countCalls(
  db: Kysely<DB>,
  accountId: number,
  since: Date,
): Promise<NonNullable<Overview["calls"]>> {
  const { rows } = await sql<NonNullable<Overview["calls"]>>`
    select count(*) as calls, count(*) filter (where stage = 'ended') as ended,
      count(*) filter (where outcome = 'answered') as answered,
      count(*) filter (where stage not in ('queued', 'ended')) as in_progress
    from (
      select c.stage, ${callOutcome} as outcome from calls c
      where c.account_id = ${accountId} and c.queued_at >= ${since}
      order by c.queued_at desc limit ${counted_max}) c`.execute(db);
  return rows[0]!;
}

async function readCredits(
  db: Kysely<DB>,
  accountId: number,
): Promise<NonNullable<Overview["credits"]>> {
  const { rows } = await sql<{ kind: CreditKind; available: number; is_low: boolean }>`
    select k.kind, coalesce(b.available, 0) as available,
      coalesce(b.available, 0) < case when k.kind = 'chat' then a.chat_credit_low else a.call_credit_low end as is_low
    from accounts a
    cross join (values ('chat'), ('call')) k (kind)
    left join credit_balances b on b.account_id = ${accountId} and b.kind = k.kind
    where a.account_id = ${accountId}`.execute(db);
  const levels = rows.map(({ kind, ...level }) => [kind, level]);
  return Object.fromEntries(levels) as NonNullable<Overview["credits"]>;
}

/** Of a rejected template the rejection is listed, and a review ends without the account's help. */
async function listChatHolds(
  db: Kysely<DB>,
  accountId: number,
): Promise<NonNullable<Overview["chat_holds"]>> {
  const { rows } = await sql<HoldRow & { name: string | null }>`
    select h.scope, h.subject_id, h.reason, h.detail, h.set_at, h.ends_at, coalesce(c.name, t.name, n.name) as name
    from (
      select * from chat_holds where account_id = ${accountId} and ends_at is null
      order by set_at desc limit ${listed_max}) h
    left join chat_campaigns c on h.scope = 'campaign' and c.account_id = ${accountId} and c.id = h.subject_id
    left join chat_templates t on h.scope = 'template' and t.account_id = ${accountId} and t.id = h.subject_id
    left join chat_numbers n on h.scope = 'number' and n.account_id = ${accountId} and n.id = h.subject_id
    where h.reason <> 'template_paused' or t.status in ('PAUSED', 'DISABLED')
    order by h.set_at desc`.execute(db);
  return rows.map(({ name, ...row }) => ({ ...holdResponseOf(row), name }));
}

async function listVoiceHolds(
  db: Kysely<DB>,
  accountId: number,
): Promise<NonNullable<Overview["voice_holds"]>> {
  const rows = await db
    .selectFrom("voice_holds as h")
    .innerJoin("voice_campaigns as c", (join) =>
      join.on("c.account_id", "=", accountId).onRef("c.id", "=", "h.campaign_id"),
    )
    .select(["h.campaign_id", "c.name", "h.reason", "h.set_at"])
    .where("h.account_id", "=", accountId)
    .where("c.finished_at", "is", null)
    .orderBy("h.set_at", "desc")
    .limit(listed_max)
    .execute();
  return rows.map((row) => ({
    ...row,
    reason: row.reason as HoldReason,
    set_at: row.set_at.toISOString(),
  }));
}

/** Those that a person switched off do not fail. */
async function listFailingEndpoints(
  db: Kysely<DB>,
  accountId: number,
): Promise<NonNullable<Overview["failing_callbacks"]>> {
  const rows = await db
    .selectFrom("callback_endpoints")
    .select(["id", "url", "disabled_reason", "failing_since"])
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    // Without parameters: the condition of an index.
    .where(
      sql<boolean>`(enabled and failing_since is not null or disabled_reason in ('failing', 'gone'))`,
    )
    .orderBy("id", "desc")
    .limit(listed_max)
    .execute();
  return rows.map((row) => ({
    ...row,
    disabled_reason: row.disabled_reason as "failing" | "gone" | null,
    failing_since: row.failing_since?.toISOString() ?? null,
  }));
}

async function listRejectedTemplates(
  db: Kysely<DB>,
  accountId: number,
  now: Date,
): Promise<NonNullable<Overview["rejected_templates"]>> {
  return db
    .selectFrom("chat_templates")
    .select(["id", "name", "rejection_reason"])
    .where("account_id", "=", accountId)
    .where("status", "=", "REJECTED")
    .where("updated_at", ">", new Date(now.getTime() - rejected_days * 86_400_000))
    .orderBy("updated_at", "desc")
    .limit(listed_max)
    .execute();
}
