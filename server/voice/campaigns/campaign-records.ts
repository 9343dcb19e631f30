// Reads campaigns. One statement reads row, counts and holds, so that the counts always add up to the
// total and the status agrees with the holds.
import { sql, type Kysely, type RawBuilder } from "kysely";
import { callableFrom, type CallingWindow } from "../../accounts/accounts/calling-window.ts";
import type { CallType } from "../../calls/state-machine/voice-plan.ts";
import { decodeCursor, endOfSearch, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { searches } from "../../lib/database/searches.ts";
import {
  recipient_states,
  type CampaignStatus,
  type RecipientState,
  type VoiceCampaignRecord,
  type WaitReason,
} from "./campaign-record-schema.ts";
import { shownCallerId } from "./internal/change-trunk.ts";
import { hold_reasons, type HoldResponse } from "./holds.ts";
import { findCaps, type CampaignCap } from "./internal/find-caps.ts";
import { dueCallableFrom, waitReasonOf } from "./internal/wait-reason.ts";

/** The filters of a list of campaigns; a campaign matches all that are given. */
export type CampaignFilter = {
  readonly status?: CampaignStatus | undefined;
  readonly call_type?: CallType | undefined;
  readonly voice_file_id?: number | undefined;
  /** Test calls instead of campaigns. */
  readonly is_test?: boolean | undefined;
};

type CampaignRow = Readonly<Record<RecipientState, number>> & {
  readonly id: number;
  readonly public_id: string;
  readonly name: string;
  readonly call_type: CallType;
  readonly send_to: VoiceCampaignRecord["send_to"];
  readonly voice_file_id: number;
  readonly is_test: boolean;
  readonly state: Exclude<CampaignStatus, "paused">;
  readonly trunk_id: number;
  readonly caller_id: string | null;
  readonly total: number;
  readonly rejected: number;
  readonly duplicates: number;
  readonly attempts: number;
  readonly live_answers: number;
  readonly abandoned: number;
  readonly cost: number;
  readonly talk_seconds: number;
  readonly max_retry: number;
  readonly retry_after_minutes: number;
  readonly scheduled_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly purged_at: Date | null;
  readonly created_at: Date;
  readonly created_by: number;
  readonly crm_workspace_id: number | null;
  readonly callback_url: string | null;
  /** The holds of an open campaign, highest rank first; times in JSON are text. */
  readonly holds: readonly HoldResponse[];
  /** Whether its trunk is usable. */
  readonly has_trunk: boolean;
  /** The distinct lists of zones of due recipients, joined by `&`. */
  readonly due_time_zones: readonly string[];
  /** Whose cap on calls keeps it from calling; null unless it is running. */
  readonly cap: CampaignCap;
  /** Why its last call ended; null unless it is running. */
  readonly last_ended_reason: string | null;
};

/** Returns a page of campaigns, newest first. Refuses: validation-failed on a cursor of another list. */
export async function listCampaigns(
  db: Kysely<DB>,
  accountId: number,
  filter: CampaignFilter,
  at: { limit: number; cursor?: string | undefined; now: Date },
): Promise<{ data: VoiceCampaignRecord[]; next_cursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const conditions = conditionsOf(filter);
  if (before !== null) conditions.push(sql`v.id < ${before}`);
  return searches.use(accountId, async () => {
    const end = await endOfCampaigns(db, accountId, before);
    if (end !== null) conditions.push(sql`v.id >= ${end}`);
    const window = await findWindow(db, accountId);
    const found = await findRows(db, accountId, { conditions, limit: at.limit + 1, now: at.now });
    const { rows, next } = page(found, at.limit, end);
    return { data: rows.map((row) => recordOf(row, window, at.now)), next_cursor: next };
  });
}

/** Every list is filtered: it has either campaigns or test calls. */
function endOfCampaigns(
  db: Kysely<DB>,
  accountId: number,
  before: number | null,
): Promise<number | null> {
  let all = db
    .selectFrom("voice_campaigns")
    .select("id")
    .where("account_id", "=", accountId)
    .orderBy("id", "desc");
  if (before !== null) all = all.where("id", "<", before);
  return endOfSearch(all);
}

/** Returns one campaign. Refuses: not-found. */
export async function findCampaign(
  db: Kysely<DB>,
  accountId: number,
  id: number,
  now: Date,
): Promise<VoiceCampaignRecord> {
  const conditions = [sql`v.id = ${id}`];
  const [row] = await findRows(db, accountId, { conditions, limit: 1, now });
  if (!row) throw notFound();
  return recordOf(row, await findWindow(db, accountId), now);
}

function findWindow(db: Kysely<DB>, accountId: number): Promise<CallingWindow> {
  return db
    .selectFrom("accounts")
    .select(["time_zone", "night_calling", "calling_from", "calling_to"])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
}

const sums = sql.join([
  ...recipient_states.map(
    (state) => sql`coalesce(sum(${sql.ref(state)}), 0)::int as ${sql.ref(state)}`,
  ),
  ...["attempts", "live_answers", "abandoned"].map(
    (sum) => sql`coalesce(sum(${sql.ref(sum)}), 0)::int as ${sql.ref(sum)}`,
  ),
  ...["cost", "talk_seconds"].map(
    (sum) => sql`coalesce(sum(${sql.ref(sum)}), 0)::bigint as ${sql.ref(sum)}`,
  ),
]);

/** Returns campaigns, newest first. */
async function findRows(
  db: Kysely<DB>,
  accountId: number,
  search: { conditions: readonly RawBuilder<unknown>[]; limit: number; now: Date },
): Promise<CampaignRow[]> {
  const { rows } = await sql<Omit<CampaignRow, "cap"> & { readonly token_id: number | null }>`
    select v.id, v.public_id, v.name, v.call_type, v.send_to, v.voice_file_id, v.is_test, v.state,
      v.trunk_id, v.caller_id, v.total, v.rejected, v.duplicates, v.max_retry, v.retry_after_minutes, v.scheduled_at,
      v.started_at, v.finished_at, v.purged_at, v.created_at, v.created_by, v.crm_workspace_id, v.callback_url,
      n.*, h.holds,
      exists (
        select from trunks t
        join trunk_nodes s on s.trunk_id = t.id
        join voice_nodes o on o.id = s.node_id
        where t.id = v.trunk_id and t.active and o.active and o.lost_at is null
          and (t.only_account_id is null or t.only_account_id = v.account_id)) as has_trunk,
      array(
        select z.time_zones from unnest(v.time_zones) z (time_zones)
        where v.state = 'running' and exists (
          select from (values (0), (1), (2)) k (priority)
          cross join lateral (
            select from voice_recipients r
            where r.account_id = ${accountId} and r.campaign_id = v.id and r.state = 'waiting'
              and r.time_zones = z.time_zones and r.priority = k.priority and r.due_at <= ${search.now}
            limit 1) r)) as due_time_zones,
      case when v.state = 'running' then (
        select m.token_id from call_campaigns m
        where m.account_id = ${accountId} and m.id = v.id) end as token_id,
      case when v.state = 'running' then (
        select c.ended_reason from calls c
        where c.account_id = ${accountId} and c.campaign_id = v.id and c.stage = 'ended'
        order by c.queued_at desc, c.id desc limit 1) end as last_ended_reason
    from voice_campaigns v
    cross join lateral (
      select ${sums} from voice_counts k where k.account_id = ${accountId} and k.campaign_id = v.id) n
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('reason', h.reason, 'detail', h.detail, 'set_at', h.set_at)
          order by array_position(${[...hold_reasons]}::text[], h.reason)), '[]') as holds,
        count(*) > 0 as held
      from voice_holds h
      where h.account_id = ${accountId} and h.campaign_id = v.id
        and v.state in ('scheduled', 'running')) h
    where ${sql.join([sql`v.account_id = ${accountId}`, ...search.conditions], sql` and `)}
    order by v.id desc limit ${search.limit}`.execute(db);
  const running = rows.filter(({ state }) => state === "running");
  const tokens = new Set(running.map(({ token_id }) => token_id));
  const caps = await findCaps(db, accountId, tokens, search.now);
  return rows.map(({ token_id, ...row }) => {
    const cap = row.state === "running" ? (caps.get(token_id) ?? null) : null;
    return { ...row, cap };
  });
}

function conditionsOf({ status, call_type, voice_file_id, is_test = false }: CampaignFilter) {
  const conditions = [sql`v.is_test = ${is_test}`];
  if (call_type !== undefined) conditions.push(sql`v.call_type = ${call_type}`);
  if (voice_file_id !== undefined)
    conditions.push(sql`v.voice_file_id = ${knownId(voice_file_id)}`);
  if (status === "paused") conditions.push(sql`h.held`);
  else if (status !== undefined) conditions.push(sql`v.state = ${status} and not h.held`);
  return conditions;
}

function callableFromOf(
  row: CampaignRow,
  waiting_for: WaitReason | null,
  window: CallingWindow,
  now: Date,
): Date | null {
  if (waiting_for === "recipient_hours") return dueCallableFrom(row, window, now);
  return waiting_for === "calling_window" ? callableFrom(window, now) : null;
}

function recordOf(row: CampaignRow, window: CallingWindow, now: Date): VoiceCampaignRecord {
  const iso = (time: Date | null) => time?.toISOString() ?? null;
  const { synthesizing, waiting, calling, answered, machine, busy, no_answer, failed } = row;
  const called = answered + machine + busy + no_answer + failed;
  const waiting_for = waitReasonOf(row, window, now);
  return {
    id: row.public_id,
    campaign_id: row.id,
    name: row.name,
    call_type: row.call_type,
    send_to: row.send_to,
    voice_file_id: row.voice_file_id,
    is_test: row.is_test,
    trunk_id: row.trunk_id,
    caller_id: shownCallerId(row.caller_id),
    status: row.holds.length > 0 ? "paused" : row.state,
    paused_reason: row.holds[0]?.reason ?? null,
    // PostgreSQL writes times in JSON with microseconds and an offset.
    holds: row.holds.map((held) => ({ ...held, set_at: new Date(held.set_at).toISOString() })),
    waiting_for,
    callable_from: iso(callableFromOf(row, waiting_for, window, now)),
    total: row.total,
    pending: synthesizing + waiting + calling,
    in_progress: calling,
    answered,
    machine,
    busy,
    no_answer,
    failed,
    suppressed: row.suppressed,
    skipped: row.skipped,
    cancelled: row.cancelled,
    rejected: row.rejected,
    duplicates: row.duplicates,
    attempts: row.attempts,
    called,
    answer_rate: called > 0 ? answered / called : null,
    live_answers: row.live_answers,
    abandoned: row.abandoned,
    abandonment_rate: row.live_answers > 0 ? row.abandoned / row.live_answers : null,
    cost: row.cost,
    talk_seconds: row.talk_seconds,
    max_retry: row.max_retry,
    retry_after: row.retry_after_minutes,
    scheduled_at: iso(row.scheduled_at),
    started_at: iso(row.started_at),
    finished_at: iso(row.finished_at),
    purged_at: iso(row.purged_at),
    created_at: row.created_at.toISOString(),
    created_by: row.created_by,
    crm_workspace_id: row.crm_workspace_id,
    callback_url: row.callback_url,
  };
}
