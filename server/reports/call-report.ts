// Calls counted by campaign, day, number or agent: each attempt once, by the time it was queued.
import { sql, type RawBuilder } from "kysely";
import type { NumberForms } from "../calls/records/call-records.ts";
import type { Database } from "../lib/database/database.ts";
import {
  byRank,
  dayOf,
  exportReport,
  quarterOf,
  ratio,
  readReport,
  type CountedRow,
  type Counting,
  type Report,
} from "./report-page.ts";
import { call_counts, call_keys, type CallGroup, type CallReport } from "./report-schema.ts";
import type { ReportRange } from "./report-range.ts";

/** Which calls are counted, and how they are grouped. */
export type CallReportQuery = ReportRange & {
  readonly account_id: number;
  readonly time_zone: string;
  readonly country_code: string;
  readonly group_by: CallGroup;
  readonly type?: "click_to_call" | "voice_campaign" | "incoming" | undefined;
  readonly campaign_id?: number | undefined;
  /** The agent's or the customer's. */
  readonly number?: NumberForms | undefined;
};

/** Returns a page of the report. Throws 422 on an invalid cursor. */
export function readCallReport(
  db: Database,
  query: CallReportQuery,
  at: { limit: number; cursor?: string | undefined },
): Promise<CallReport> {
  return readReport(db, reportOf(query), at);
}

/** Returns the report's rows, without the totals, as chunks of CSV with a header line. */
export function exportCallReport(db: Database, query: CallReportQuery): AsyncGenerator<string> {
  return exportReport(db, reportOf(query));
}

function reportOf(query: CallReportQuery): Report<CallReport["totals"]> {
  return {
    range: query,
    keys: call_keys[query.group_by],
    counts: call_counts,
    countsOf,
    counting: countingOf(query),
  };
}

function countsOf(row: CountedRow): CallReport["totals"] {
  const n = row as unknown as Record<(typeof call_counts)[number] | "talks", number>;
  const counts = Object.fromEntries(call_counts.map((count) => [count, n[count]]));
  return {
    ...(counts as CallReport["totals"]),
    average_talk_seconds: ratio(n.talk_seconds, n.talks, 1),
    answer_rate: ratio(n.answered, n.calls - n.in_progress),
  };
}

/** The outcome of a call: an answered call counts as answered, whatever ended it. */
export const callOutcome = sql`case
  when c.stage <> 'ended' then 'in_progress'
  when c.ended_reason = 'playback_failed' or c.disposition = 'failed' then 'failed'
  when c.answered_at is not null then case c.answered_by when 'machine' then 'machine' else 'answered' end
  when c.status in ('busy', 'canceled') then c.status
  when c.status = 'no-answer' then 'no_answer'
  else 'failed' end`;

const outcomes = ["answered", "machine", "busy", "no_answer", "failed", "canceled", "in_progress"];
const sums = ["talks", "talk_seconds", "ring_seconds", "billed_seconds", "cost"];

/**
 * Groups first by columns of the rows and then maps the few remaining groups to their keys. Calls and their
 * legs are merged in the order of the calls' ids.
 */
function countingOf(query: CallReportQuery): Counting {
  const { account_id, campaign_id, number } = query;
  const { parts, key, keyJoins, sort, names, joins } = groupOf(query);
  const conditions = sql.join(conditionsOf(query), sql` and `);
  // Only the conditions that an index covers.
  const sorted = sql.join(conditionsOf({ ...query, type: undefined }), sql` and `);
  const ctes = sql`
    ids as materialized (
      select min(id) as first, max(id) as last from (select c.id from calls c where ${sorted} offset 0) c
    ),
    found as (
      select ${parts}, ${callOutcome} as outcome, count(*) as calls,
        count(*) filter (
          where c.answered_at is not null and (c.recipient_id is null and c.direction = 'outbound' or a.call_id is not null)) as connected,
        count(c.talk_seconds) as talks, sum(c.talk_seconds) as talk_seconds,
        sum(c.ring_seconds) as ring_seconds, sum(c.billed_seconds) as billed_seconds, sum(c.cost) as cost
      from calls c
      left join (${talksOf(query)}) a on a.call_id = c.id
      where ${conditions} and c.id between (select first from ids) and (select last from ids)
      group by part, more, outcome
    ),
    counted as (
      select grouping(key) = 1 as is_total, key, coalesce(sum(calls), 0)::bigint as calls,
        ${sql.join(
          outcomes.map(
            (one) =>
              sql`coalesce(sum(calls) filter (where outcome = ${sql.lit(one)}), 0)::bigint as ${sql.ref(one)}`,
          ),
        )},
        ${sql.join(
          ["connected", ...sums].map(
            (one) => sql`coalesce(sum(${sql.ref(one)}), 0)::bigint as ${sql.ref(one)}`,
          ),
        )}
      from (select f.*, ${key} as key from found f ${keyJoins}) f
      group by grouping sets ((key), ())
    )`;
  const in_order = campaign_id === undefined && number === undefined;
  return { account_id, in_order, ctes, sort, names, joins };
}

/**
 * Selects the calls that an agent answered, each with the last agent. For click-to-calls this is only needed
 * when grouping by agent, because their customers are called only after an agent has answered.
 */
function talksOf({ account_id, group_by }: CallReportQuery): RawBuilder<unknown> {
  const of = group_by === "agent" ? sql`` : sql`and l.role = 'transfer'`;
  return sql`
    select distinct on (l.call_id) l.call_id, l.number from call_legs l
    where l.account_id = ${account_id} and l.role <> 'customer' and l.answered_at is not null ${of}
      and l.call_id between (select first from ids) and (select last from ids)
    order by l.call_id, l.id desc`;
}

function conditionsOf({ account_id, from, to, type, campaign_id, number }: CallReportQuery) {
  const conditions = [
    sql`c.account_id = ${account_id}`,
    sql`c.queued_at >= ${from}`,
    sql`c.queued_at < ${to}`,
  ];
  if (type === "click_to_call")
    conditions.push(sql`c.recipient_id is null and c.direction = 'outbound'`);
  if (type === "incoming") conditions.push(sql`c.direction = 'inbound'`);
  if (type === "voice_campaign") conditions.push(sql`c.recipient_id is not null`);
  if (campaign_id !== undefined) conditions.push(sql`c.campaign_id = ${campaign_id}`);
  if (number !== undefined)
    conditions.push(
      sql`(c.from_number = ${number.agent} or c.to_phone = ${number.customer}::text)`,
    );
  return conditions;
}

type Group = Pick<Counting, "sort" | "names" | "joins"> & {
  /** Columns of a call: `part`, and `more` where `part` does not determine the group. */
  readonly parts: RawBuilder<unknown>;
  /** The group's key, from `f` and `keyJoins`. */
  readonly key: RawBuilder<unknown>;
  readonly keyJoins: RawBuilder<unknown>;
};

function groupOf({ account_id, group_by, time_zone, country_code }: CallReportQuery): Group {
  const ofPart = { key: sql`part`, keyJoins: sql`` };
  switch (group_by) {
    case "campaign":
      return {
        ...ofPart,
        parts: sql`case when c.recipient_id is not null then c.campaign_id end as part, null as more`,
        sort: sql`coalesce(-key, 0)`,
        names: sql`key as campaign_id, v.name as campaign_name`,
        joins: sql`left join voice_campaigns v on v.account_id = ${account_id} and v.id = key`,
      };
    case "day":
      return {
        ...ofPart,
        parts: sql`${quarterOf(sql`c.queued_at`)} as part, null as more`,
        key: dayOf(sql`part`, time_zone),
        sort: sql`(key - date '1970-01-01')::bigint`,
        names: sql`key::text as date`,
        joins: sql``,
      };
    case "number":
      return {
        // The caller ID that the node leader chooses (calls/leader/dialer/trunk-line.ts).
        parts: sql`case when c.recipient_id is not null or c.direction = 'inbound' then c.from_number
            else c.cli_number end as part,
          case when c.recipient_id is null and c.direction = 'outbound' and c.cli_number is null
            then c.trunk_id end as more`,
        key: sql`coalesce(part, default_caller_id(${account_id}, t))`,
        keyJoins: sql`left join trunks t on t.id = more`,
        sort: byRank,
        names: sql`key as caller_id`,
        joins: sql``,
      };
    case "agent":
      return {
        ...ofPart,
        parts: sql`coalesce(a.number,
            case when c.recipient_id is null and c.direction = 'outbound' then c.from_number end) as part,
          null as more`,
        sort: byRank,
        names: sql`key as agent_number, coalesce(u.name, e.name) as agent_name, u.id as agent_user_id`,
        joins: sql`
          left join extensions e on e.account_id = ${account_id} and e.extension = key
          left join lateral (
            select u.id, u.name from users u
            where u.account_id = ${account_id}
              and (u.id = e.user_id or (e.id is null and ${country_code} || u.phone = key))
            order by u.active desc, u.id limit 1) u on true`,
      };
  }
}
