// Call records: one per attempt, with its legs, newest first.
import { sql, type Kysely, type RawBuilder } from "kysely";
import {
  decodeCursor,
  isBelow,
  isNotBelow,
  page,
  readBounded,
  searched_rows_max,
  type BoundedRows,
} from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { searches } from "../../lib/database/searches.ts";
import type { CallDetail, CallRecord, CallRecordType } from "./call-record-schema.ts";
import { requestFields, toCallEvent, toCallRecord, type CallRow } from "./internal/call-row.ts";
import { findWhoHungUp } from "./internal/find-who-hung-up.ts";
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

/** One number in the forms that calls store: every spelling of a phone. */
export type NumberForms = {
  /** An extension, or E.164 digits. */
  readonly agent: readonly string[];
  /** E.164 digits; none if the number cannot be a phone number. */
  readonly customer: readonly string[];
};

/** Returns a page of call records, newest first; 422 on a cursor that is not from this list. */
export async function listCalls(
  db: Kysely<DB>,
  accountId: number,
  filter: CallFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: CallRecord[]; next_cursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const search = await searchOf(db, accountId, filter);
  const end = await endOfCalls(db, accountId, search, before);
  const found = await findCalls(db, accountId, search, { id: before, end, limit: at.limit + 1 });
  const { rows, next } = page(
    { ...found, rows: found.rows.map((record) => ({ id: record.call_id, record })) },
    at.limit,
    end,
  );
  return { data: rows.map(({ record }) => record), next_cursor: next };
}

/** Returns the next older call records. */
export async function callsBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: CallFilter,
  before: { id: number | null; limit: number },
): Promise<BoundedRows<CallRecord>> {
  return findCalls(db, accountId, await searchOf(db, accountId, filter), before);
}

async function findCalls(
  db: Kysely<DB>,
  accountId: number,
  search: Search,
  before: { id: number | null; end?: number | null; limit: number },
): Promise<BoundedRows<CallRecord>> {
  const ids = foundIds(accountId, search, before);
  const { rows, isCut } = await searches.use(accountId, () => findRows(db, accountId, ids));
  return { rows: rows.map(toCallRecord), isCut };
}

/** Returns a call record. Refuses: not-found. */
export async function findCallRecord(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<CallRecord> {
  const [row] = (await findRows(db, accountId, sql`select ${id}::bigint as id`)).rows;
  if (!row) throw notFound();
  return toCallRecord(row);
}

/** Returns a call record with its events and its request. Refuses: not-found. */
export async function findCallDetail(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<Omit<CallDetail, "contact_name">> {
  const [row] = (await findRows(db, accountId, sql`select ${id}::bigint as id`)).rows;
  if (!row) throw notFound();
  const events = await db
    .selectFrom("call_events")
    .select(["type", "at", "data"])
    .where("account_id", "=", accountId)
    .where("call_id", "=", id)
    .orderBy("id")
    .execute();
  const ended_by_user =
    row.ended_reason === "hung_up_by_api" ? await findWhoHungUp(db, accountId, id) : null;
  return {
    ...toCallRecord(row),
    ...requestFields(row),
    ended_by_user,
    events: events.map(toCallEvent),
  };
}

function findRows(
  db: Kysely<DB>,
  accountId: number,
  ids: RawBuilder<unknown>,
): Promise<BoundedRows<CallRow>> {
  const query = sql<CallRow>`
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
      from call_messages r where r.account_id = ${accountId} and r.call_id = c.id) r`;
  return readBounded(db, query, {
    large: ["legs", "menu_path", "transcript", "collected"],
    order: "queued_at desc, id desc",
  });
}

/** Selects what became of the callback that the caller of a call asked for. All erased customers have the phone ''. */
function callbackOutcome(accountId: number): RawBuilder<unknown> {
  return sql`case when c.callback_at is not null then (
    select case
        when c.opted_out then 'opted_out'
        when exists (
          select from calls d
          where d.account_id = ${accountId} and d.to_phone = c.to_phone and d.recipient_id = c.recipient_id
            and d.campaign_id = c.campaign_id and d.id > c.id and d.status <> 'canceled') then 'called'
        when n.state = 'suppressed' then 'suppressed'
        when v.state in ('cancelled', 'failed') then 'campaign_ended'
        when c.stage <> 'ended' or n.state in ('waiting', 'calling') then 'scheduled'
        else 'failed' end
    from voice_recipients n
    where n.account_id = ${accountId} and n.campaign_id = c.campaign_id and n.id = c.recipient_id) end`;
}

const order = { table: "calls", alias: "c", time: "queued_at" } as const;
const newest = sql`order by queued_at desc, id desc`;

type Search = {
  /** The few submissions of which all calls are read; null: all calls in the order of time, by `any`. */
  readonly submissions: readonly number[] | null;
  /** One of these must hold; each has an index by time. */
  readonly any: readonly RawBuilder<unknown>[];
  /** These must hold, and each index has them. */
  readonly times: readonly RawBuilder<unknown>[];
  /** These must hold, and no index has them. */
  readonly others: readonly RawBuilder<unknown>[];
};

/** Selects the IDs of a page: of several values, one page of each is read and the newest rows are taken. */
function foundIds(
  accountId: number,
  { submissions, any, times, others }: Search,
  { id, end = null, limit }: { id: number | null; end?: number | null; limit: number },
): RawBuilder<unknown> {
  const all = [sql`c.account_id = ${accountId}`, ...times, ...others];
  if (id !== null) all.push(isBelow(order, accountId, id));
  if (end !== null) all.push(isNotBelow(order, accountId, end));
  const pages = any.map(
    (one) => sql`(select c.id, c.queued_at from calls c
      where ${sql.join([one, ...all], sql` and `)} ${newest} limit ${limit})`,
  );
  const found =
    submissions === null
      ? sql.join(pages, sql` union `)
      : sql`select c.* from unnest(${submissions}::bigint[]) p (campaign_id) cross join lateral ${pages[0]!} c`;
  return sql`select id from (${found}) found ${newest} limit ${limit}`;
}

/** Returns the last call that a page searches: the newest at which the search by one of the indexes ends. */
async function endOfCalls(
  db: Kysely<DB>,
  accountId: number,
  { submissions, any, times, others }: Search,
  before: number | null,
): Promise<number | null> {
  if (submissions !== null || others.length === 0) return null;
  const all = [sql`c.account_id = ${accountId}`, ...times];
  if (before !== null) all.push(isBelow(order, accountId, before));
  const ends = any.map(
    (one) => sql`(select c.id, c.queued_at from calls c where ${sql.join([one, ...all], sql` and `)}
      ${newest} offset ${searched_rows_max - 1} limit ${1})`,
  );
  const last = sql<{
    id: number;
  }>`select id from (${sql.join(ends, sql` union all `)}) e ${newest} limit 1`;
  return (await last.execute(db)).rows[0]?.id ?? null;
}

/** The type of a call, as the index `calls_by_type` has it. */
const typeOfCall = sql`case when c.direction = 'inbound' then 'incoming'
  when c.recipient_id is null then 'click_to_call' else 'voice_campaign' end`;

/** Chooses how to search: by few submissions, else by the filter that is likely to match the fewest calls. */
async function searchOf(db: Kysely<DB>, accountId: number, filter: CallFilter): Promise<Search> {
  const { type, campaign_id, number, status = [], ended_reason, from, to } = filter;
  const times: RawBuilder<unknown>[] = [];
  if (from) times.push(sql`c.queued_at >= ${from}`);
  if (to) times.push(sql`c.queued_at < ${to}`);
  const indexed: RawBuilder<unknown>[][] = [];
  if (number) indexed.push(numberConditions(number));
  if (campaign_id !== undefined) indexed.push([sql`c.campaign_id = ${campaign_id}`]);
  if (status.length > 0) indexed.push(status.map((one) => sql`c.status = ${one}`));
  if (ended_reason !== undefined) indexed.push([sql`c.ended_reason = ${ended_reason}`]);
  if (type !== undefined) indexed.push([sql`${typeOfCall} = ${type}`]);
  const asked = submissionConditions(filter);
  const isOne = (any: readonly RawBuilder<unknown>[]) => sql`(${sql.join(any, sql` or `)})`;
  for (const one of asked) {
    const { rows } = await sql<{ campaign_id: number }>`select p.campaign_id from click_to_calls p
      where p.account_id = ${accountId} and ${one} limit ${searched_rows_max}`.execute(db);
    if (rows.length === searched_rows_max) continue;
    return {
      submissions: rows.map((row) => row.campaign_id),
      any: [sql`c.campaign_id = p.campaign_id`],
      times,
      others: [...indexed.map(isOne), ...asked.map(isOfSubmission)],
    };
  }
  const [any = [sql`true`], ...rest] = indexed;
  return {
    submissions: null,
    any,
    times,
    others: [...rest.map(isOne), ...asked.map(isOfSubmission)],
  };

  /** A subquery with a result, because the planner would join and read all submissions that match. */
  function isOfSubmission(one: RawBuilder<unknown>): RawBuilder<unknown> {
    return sql`(select ${one} from click_to_calls p where p.account_id = ${accountId}
      and p.campaign_id = c.campaign_id)`;
  }
}

/** Returns the conditions of the submission `p` of a click-to-call. */
function submissionConditions({ reference, to_group_id }: CallFilter): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [];
  if (reference !== undefined) all.push(sql`p.reference = ${reference}`);
  if (to_group_id !== undefined) all.push(sql`p.to_group_id = ${to_group_id}`);
  return all;
}

function numberConditions({ agent, customer }: NumberForms): RawBuilder<unknown>[] {
  return [
    ...agent.map((one) => sql`c.from_number = ${one}`),
    ...customer.map((one) => sql`c.to_phone = ${one}`),
  ];
}
