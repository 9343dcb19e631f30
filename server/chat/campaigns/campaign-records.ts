// Reads campaigns. Row, counts and holds come from one statement, so that at any instant the three
// counts add up to the total and the status matches the holds.
import { sql, type Kysely, type RawBuilder } from "kysely";
import { quietUntil } from "../../accounts/accounts/quiet-time.ts";
import { findReservation } from "../../credits/credits.ts";
import { decodeCursor, endOfSearch, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { searches } from "../../lib/database/searches.ts";
import type { MmLite, Trimmed } from "./chat-campaign-schema.ts";
import {
  shown_states,
  storedStates,
  type CampaignDetail,
  type CampaignRecord,
  type CampaignStatus,
} from "./campaign-record-schema.ts";
import { hold_reasons, type HoldResponse, type HoldReason } from "../holds/holds.ts";
import {
  countOfState,
  recipientStates,
  type RecipientState,
} from "../recipients/recipient-states.ts";

/** The filters of a list of campaigns; each is optional and all must match. */
export type CampaignFilter = {
  readonly status?: CampaignStatus | undefined;
  readonly chat_number_id?: number | undefined;
  readonly template_id?: number | undefined;
  /** A part of the name, case-insensitive. */
  readonly q?: string | undefined;
  /** Created from this time (inclusive) to that time (exclusive). */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

type StoredState = "scheduled" | "running" | "completed" | "cancelled" | "failed";

type CampaignRow = Readonly<Record<RecipientState, number>> & {
  readonly id: number;
  readonly name: string;
  readonly chat_number_id: number;
  readonly template_id: number | null;
  readonly flow_id: number | null;
  readonly automation_flow_id: string | null;
  readonly state: StoredState;
  readonly failure: string | null;
  readonly scheduled_at: Date | null;
  readonly total: number;
  readonly trimmed: Trimmed;
  readonly mm_lite: MmLite;
  readonly reservation_id: number;
  readonly created_by: number;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly purged_at: Date | null;
  /** Replies that have been purged. */
  readonly purged_replies: number;
  /** Of an open campaign, highest rank first. */
  readonly holds: readonly HoldResponse[];
};

/** Returns a page of campaigns, newest first; 422 for a cursor of another list. */
export async function listCampaigns(
  db: Kysely<DB>,
  accountId: number,
  filter: CampaignFilter,
  at: { limit: number; cursor?: string | undefined; now: Date },
): Promise<{ data: CampaignRecord[]; next_cursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  return searches.use(accountId, async () => {
    const quiet = await isQuiet(db, accountId, at.now);
    const conditions = conditionsOf(filter, quiet);
    if (before !== null) conditions.push(sql`c.id < ${before}`);
    const end = await endOfCampaigns(db, accountId, filter, before);
    if (end !== null) conditions.push(sql`c.id >= ${end}`);
    const found = await findRows(db, accountId, conditions, at.limit + 1);
    const { rows, next } = page(found, at.limit, end);
    return { data: rows.map((row) => recordOf(row, quiet)), next_cursor: next };
  });
}

/** Only numbers have an index in the order of the list. */
async function endOfCampaigns(
  db: Kysely<DB>,
  accountId: number,
  { chat_number_id, ...others }: CampaignFilter,
  before: number | null,
): Promise<number | null> {
  if (Object.values(others).every((value) => value === undefined)) return null;
  let all = db
    .selectFrom("chat_campaigns")
    .select("id")
    .where("account_id", "=", accountId)
    .orderBy("id", "desc");
  if (chat_number_id !== undefined) all = all.where("chat_number_id", "=", chat_number_id);
  if (before !== null) all = all.where("id", "<", before);
  return endOfSearch(all);
}

/** Returns one campaign with its details. Errors: not-found. */
export async function findCampaign(
  db: Kysely<DB>,
  accountId: number,
  id: number,
  now: Date,
): Promise<CampaignDetail> {
  const [row] = await findRows(db, accountId, [sql`c.id = ${id}`], 1);
  if (!row) throw notFound();
  const { failure, trimmed, mm_lite, created_by } = row;
  return {
    ...recordOf(row, await isQuiet(db, accountId, now)),
    holds: [...row.holds],
    failure,
    trimmed,
    counts: countsOf(row),
    reply_count: row.purged_replies + (await countReplies(db, accountId, id)),
    purged_at: row.purged_at?.toISOString() ?? null,
    credits: await findReservation(db, accountId, row.reservation_id),
    mm_lite,
    created_by,
  };
}

/**
 * The account's quiet time pauses running campaigns without a stored hold, because it depends on
 * the clock.
 */
async function isQuiet(db: Kysely<DB>, accountId: number, now: Date): Promise<boolean> {
  const account = await db
    .selectFrom("accounts")
    .select(["time_zone", "chat_quiet_from", "chat_quiet_to"])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return quietUntil(account, now) !== null;
}

const sums = sql.join(
  recipientStates.map((state) => sql`sum(${sql.ref(state)})::int as ${sql.ref(state)}`),
);

/** Newest first. Before it starts, a scheduled campaign is paused only by its own holds. */
async function findRows(
  db: Kysely<DB>,
  accountId: number,
  conditions: readonly RawBuilder<unknown>[],
  limit: number,
): Promise<CampaignRow[]> {
  const { rows } = await sql<CampaignRow>`
    select c.id, c.name, c.chat_number_id, c.template_id, c.flow_id, c.automation_flow_id, c.state,
      c.failure, c.scheduled_at, c.total, c.trimmed, c.mm_lite, c.reservation_id, c.created_by,
      c.created_at, c.started_at, c.finished_at, c.purged_at, c.purged_replies, n.*, h.holds
    from chat_campaigns c
    cross join lateral (
      select ${sums} from chat_counts n where n.account_id = ${accountId} and n.campaign_id = c.id) n
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('scope', h.scope, 'subject_id', h.subject_id, 'reason', h.reason,
            'detail', h.detail, 'set_at', h.set_at, 'ends_at', h.ends_at)
          order by array_position(${[...hold_reasons]}::text[], h.reason), h.set_at), '[]') as holds,
        count(*) > 0 as held,
        coalesce(bool_or(h.scope = 'campaign'), false) as held_itself
      from chat_holds h
      where h.account_id = ${accountId} and c.state in ('scheduled', 'running')
        and ((h.scope = 'campaign' and h.subject_id = c.id)
          or (h.scope = 'template' and h.subject_id = c.template_id)
          or (h.scope = 'number' and h.subject_id = c.chat_number_id)
          or h.scope = 'account')) h
    where ${sql.join([sql`c.account_id = ${accountId}`, ...conditions], sql` and `)}
    order by c.id desc limit ${limit}`.execute(db);
  return rows.map((row) => ({ ...row, holds: row.holds.map(holdOf) }));
}

/** In JSON, PostgreSQL writes times with microseconds and an offset. */
function holdOf(held: HoldResponse): HoldResponse {
  const iso = (time: string) => new Date(time).toISOString();
  return { ...held, set_at: iso(held.set_at), ends_at: held.ends_at && iso(held.ends_at) };
}

function conditionsOf(filter: CampaignFilter, quiet: boolean): RawBuilder<unknown>[] {
  const { status, chat_number_id, template_id, q, from, to } = filter;
  const conditions: RawBuilder<unknown>[] = [];
  if (status !== undefined) conditions.push(ofStatus(status, quiet));
  if (chat_number_id !== undefined) conditions.push(sql`c.chat_number_id = ${chat_number_id}`);
  if (template_id !== undefined) conditions.push(sql`c.template_id = ${template_id}`);
  const part = q?.trim() ?? "";
  if (part !== "") {
    const pattern = `%${part.replaceAll(/[\\%_]/g, "\\$&")}%`;
    conditions.push(sql`c.name ilike ${pattern}`);
  }
  if (from) conditions.push(sql`c.created_at >= ${from}`);
  if (to) conditions.push(sql`c.created_at < ${to}`);
  return conditions;
}

/** The SQL equivalent of statusOf. */
function ofStatus(status: CampaignStatus, quiet: boolean): RawBuilder<unknown> {
  const kept_back = sql`(h.held or ${quiet}::boolean)`;
  switch (status) {
    case "paused":
      return sql`((c.state = 'running' and ${kept_back}) or (c.state = 'scheduled' and h.held_itself))`;
    case "running":
      return sql`(c.state = 'running' and not ${kept_back})`;
    case "scheduled":
      return sql`(c.state = 'scheduled' and not h.held_itself)`;
    default:
      return sql`c.state = ${status}`;
  }
}

function pausedReasonOf({ state, holds }: CampaignRow, quiet: boolean): HoldReason | null {
  switch (state) {
    case "running":
      return holds[0]?.reason ?? (quiet ? "quiet_time" : null);
    case "scheduled":
      return holds.find(({ scope }) => scope === "campaign")?.reason ?? null;
    default:
      return null;
  }
}

function recordOf(row: CampaignRow, quiet: boolean): CampaignRecord {
  const paused_reason = pausedReasonOf(row, quiet);
  const iso = (time: Date | null) => time?.toISOString() ?? null;
  return {
    id: row.id,
    name: row.name,
    status: paused_reason === null ? row.state : "paused",
    total_contacts: row.total,
    sent_count: countAs(row, "sent"),
    failed_count: countAs(row, "failed"),
    pending_count: countAs(row, "pending"),
    scheduled_at: iso(row.scheduled_at),
    created_at: row.created_at.toISOString(),
    paused_reason,
    chat_number_id: row.chat_number_id,
    template_id: row.template_id,
    flow_id: row.flow_id,
    automation_flow_id: row.automation_flow_id,
    delivered_count: row.delivered + row.read,
    read_count: row.read,
    unknown_count: row.unknown,
    started_at: iso(row.started_at),
    finished_at: iso(row.finished_at),
  };
}

function countAs(row: CampaignRow, count: "pending" | "sent" | "failed"): number {
  return sumOf(
    row,
    recipientStates.filter((state) => countOfState[state] === count),
  );
}

function countsOf(row: CampaignRow): CampaignDetail["counts"] {
  const entries = shown_states.map((shown) => [shown, sumOf(row, storedStates(shown))]);
  return Object.fromEntries(entries) as CampaignDetail["counts"];
}

function sumOf(row: CampaignRow, states: readonly RecipientState[]): number {
  return states.reduce((sum, state) => sum + row[state], 0);
}

async function countReplies(db: Kysely<DB>, accountId: number, campaignId: number) {
  const { count } = await db
    .selectFrom("chat_replies")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
  return count;
}
