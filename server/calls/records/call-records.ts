// Call records: one per attempt, with its legs, newest first.
import { sql, type Kysely, type RawBuilder } from "kysely";
import { decodeCursor, isBelow, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { searches } from "../../lib/database/searches.ts";
import type { CallDetail, CallRecord, CallRecordType } from "./call-record-schema.ts";
import { requestFields, toCallEvent, toCallRecord, type CallRow } from "./internal/call-row.ts";
import type { CallStatus } from "../state-machine/call.ts";

/** Filters of a list or an export of calls; all that are given must match. */
export type CallFilter = {
  readonly type?: CallRecordType | undefined;
  readonly campaign_id?: number | undefined;
  readonly reference?: string | undefined;
  readonly number?: NumberForms | undefined;
  /** Any of these; at least one. */
  readonly status?: readonly CallStatus[] | undefined;
  readonly ended_reason?: string | undefined;
  readonly to_group_id?: number | undefined;
  /** Queued from this time on, and before that one. */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

/** One number in the forms that calls store; `customer` is null if it cannot be a phone number. */
export type NumberForms = {
  /** An extension, or E.164 digits. */
  readonly agent: string;
  /** E.164 digits. */
  readonly customer: string | null;
};

/** Returns a page of call records, newest first; 422 on a cursor that is not from this list. */
export async function listCalls(
  db: Kysely<DB>,
  accountId: number,
  filter: CallFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: CallRecord[]; next_cursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const found = await callsBefore(db, accountId, filter, { id: before, limit: at.limit + 1 });
  const { rows, next } = page(
    found.map((record) => ({ id: record.call_id, record })),
    at.limit,
  );
  return { data: rows.map(({ record }) => record), next_cursor: next };
}

/** Returns the next older call records. */
export async function callsBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: CallFilter,
  before: { id: number | null; limit: number },
): Promise<CallRecord[]> {
  const ids = foundIds(accountId, filter, before);
  const rows = await searches.use(accountId, () => findRows(db, accountId, ids));
  return rows.map(toCallRecord);
}

/** Returns a call record. Refuses: not-found. */
export async function findCallRecord(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<CallRecord> {
  const [row] = await findRows(db, accountId, sql`select ${id}::bigint as id`);
  if (!row) throw notFound();
  return toCallRecord(row);
}

/** Returns a call record with its events and its request. Refuses: not-found. */
export async function findCallDetail(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<CallDetail> {
  const [row] = await findRows(db, accountId, sql`select ${id}::bigint as id`);
  if (!row) throw notFound();
  const events = await db
    .selectFrom("call_events")
    .select(["type", "at", "data"])
    .where("account_id", "=", accountId)
    .where("call_id", "=", id)
    .orderBy("id")
    .execute();
  return {
    ...toCallRecord(row),
    ...requestFields(row),
    events: events.map(toCallEvent),
  };
}

async function findRows(
  db: Kysely<DB>,
  accountId: number,
  ids: RawBuilder<unknown>,
): Promise<CallRow[]> {
  const { rows } = await sql<CallRow>`
    with page as materialized (${ids})
    select c.id, c.direction, c.campaign_id, v.name as campaign_name, v.call_type, c.recipient_id,
      coalesce(p.from_number, c.from_number) as from_number, c.to_number, c.cli_number, c.status,
      c.disposition, c.ended_reason, c.ended_by, c.answered_by, c.attempt, c.queued_at,
      c.initiated_at, c.ringing_at, c.answered_at, c.ended_at, c.ring_seconds, c.talk_seconds,
      c.billed_seconds, c.hangup_cause, c.sip_status, c.dtmf, c.recording_state, c.cost,
      c.retried_leg, c.retry_at, c.collected, c.callback_at, c.opted_out, c.lead_id,
      p.reference, p.source, p.remark, p.policy_applied, p.from_group_id, p.to_group_id,
      p.agent_not_pick_group_id, p.agent_not_pick_policy, p.extension_for_transfer,
      p.extension_for_dis, p.auto_block_minutes, p.callback_method,
      coalesce(p.max_retry, v.max_retry) as max_retry,
      coalesce(p.retry_after_minutes, v.retry_after_minutes) as retry_after_minutes,
      coalesce(p.customer_retry_count, 0) as customer_retry_count,
      coalesce(p.agent_retry_count, 0) as agent_retry_count,
      coalesce(p.scheduled_at, v.scheduled_at) as scheduled_at,
      coalesce(p.enable_chat, false) as enable_chat, l.legs, m.menu_path, t.transcript, r.messages,
      ${callbackOutcome(accountId)} as callback_outcome
    from page
    join calls c on c.account_id = ${accountId} and c.id = page.id
    left join click_to_calls p on p.account_id = ${accountId} and p.campaign_id = c.campaign_id
    left join voice_campaigns v on v.account_id = ${accountId} and v.id = c.campaign_id
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('role', l.role, 'number', l.number, 'status', l.status,
            'initiated_at', l.initiated_at, 'ringing_at', l.ringing_at,
            'answered_at', l.answered_at, 'ended_at', l.ended_at, 'cause', l.cause,
            'sip_status', l.sip_status, 'blocker', l.blocker)
          order by l.id), '[]') as legs
      from call_legs l where l.account_id = ${accountId} and l.call_id = c.id) l
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('node', m.node, 'key', m.key, 'at', m.at) order by m.id), '[]') as menu_path
      from call_menu_steps m where m.account_id = ${accountId} and m.call_id = c.id) m
    cross join lateral (
      select coalesce(json_agg(
          json_build_object('who', t.who, 'text', t.text, 'at', t.at) order by t.id), '[]') as transcript
      from call_transcripts t where t.account_id = ${accountId} and t.call_id = c.id) t
    cross join lateral (
      select coalesce(json_agg(json_build_object('node', r.node, 'state', r.state)
          order by r.at, r.recording), '[]') as messages
      from call_messages r where r.account_id = ${accountId} and r.call_id = c.id) r
    order by c.queued_at desc, c.id desc`.execute(db);
  return rows;
}

/** Selects what became of the callback that the caller of a call asked for. */
function callbackOutcome(accountId: number): RawBuilder<unknown> {
  return sql`case when c.callback_at is not null then (
    select case
        when c.opted_out then 'opted_out'
        when exists (
          select from calls d
          where d.account_id = ${accountId} and d.to_phone = c.to_phone and d.id > c.id
            and d.campaign_id = c.campaign_id and d.status <> 'canceled') then 'called'
        when n.state = 'suppressed' then 'suppressed'
        when v.state in ('cancelled', 'failed') then 'campaign_ended'
        when c.stage <> 'ended' or n.state in ('waiting', 'calling') then 'scheduled'
        else 'failed' end
    from voice_recipients n
    where n.account_id = ${accountId} and n.campaign_id = c.campaign_id and n.id = c.recipient_id) end`;
}

/**
 * Selects the IDs of a page. Each filter value has an index by time; with several values, one page of
 * each is read and the newest rows are taken.
 */
function foundIds(
  accountId: number,
  filter: CallFilter,
  before: { id: number | null; limit: number },
): RawBuilder<unknown> {
  const { any, all } = conditionsOf(accountId, filter);
  if (before.id !== null)
    all.push(isBelow({ table: "calls", alias: "c", time: "queued_at" }, accountId, before.id));
  const newest = sql`order by queued_at desc, id desc limit ${before.limit}`;
  const pages = any.map((one) => {
    const conditions = [sql`c.account_id = ${accountId}`, one, ...all];
    return sql`(select c.id, c.queued_at from calls c
      where ${sql.join(conditions, sql` and `)} ${newest})`;
  });
  return sql`select id from (${sql.join(pages, sql` union `)}) found ${newest}`;
}

/** The type of a call, as the index `calls_by_type` has it. */
const typeOfCall = sql`case when c.direction = 'inbound' then 'incoming'
  when c.recipient_id is null then 'click_to_call' else 'voice_campaign' end`;

/** Returns the filter's conditions: `all` must hold, and one of `any`. */
function conditionsOf(
  accountId: number,
  filter: CallFilter,
): { any: RawBuilder<unknown>[]; all: RawBuilder<unknown>[] } {
  const { type, campaign_id, reference, number, status, ended_reason, to_group_id, from, to } =
    filter;
  const all: RawBuilder<unknown>[] = [];
  const inCampaigns = (condition: RawBuilder<unknown>) =>
    sql`c.campaign_id in (
      select p.campaign_id from click_to_calls p where p.account_id = ${accountId} and ${condition})`;
  if (type !== undefined) all.push(sql`${typeOfCall} = ${type}`);
  if (campaign_id !== undefined) all.push(sql`c.campaign_id = ${campaign_id}`);
  if (reference !== undefined) all.push(inCampaigns(sql`p.reference = ${reference}`));
  if (to_group_id !== undefined) all.push(inCampaigns(sql`p.to_group_id = ${to_group_id}`));
  if (ended_reason !== undefined) all.push(sql`c.ended_reason = ${ended_reason}`);
  if (from) all.push(sql`c.queued_at >= ${from}`);
  if (to) all.push(sql`c.queued_at < ${to}`);
  const statuses = (status ?? []).map((one) => sql`c.status = ${one}`);
  const numbers = number ? numberConditions(number) : [];
  if (numbers.length > 0 && status) all.push(sql`c.status = any(${[...status]}::text[])`);
  const any = [numbers, statuses, [sql`true`]].find(({ length }) => length > 0)!;
  return { any, all };
}

function numberConditions({ agent, customer }: NumberForms): RawBuilder<unknown>[] {
  const asCustomer = customer === null ? [] : [sql`c.to_phone = ${customer}`];
  return [sql`c.from_number = ${agent}`, ...asCustomer];
}
