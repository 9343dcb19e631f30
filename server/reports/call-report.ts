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
import type { Span } from "./report-span.ts";

/** What is counted, and how it is told apart. */
export type CallsAsked = Span & {
  readonly account_id: number;
  readonly time_zone: string;
  readonly country_code: string;
  readonly group_by: CallGroup;
  readonly type?: "click_to_call" | "voice_campaign" | undefined;
  readonly campaign_id?: number | undefined;
  /** The agent's or the customer's. */
  readonly number?: NumberForms | undefined;
};

/** A page of the report; 422 on a cursor that is not of it. */
export function readCallReport(
  db: Database,
  asked: CallsAsked,
  at: { limit: number; cursor?: string | undefined },
): Promise<CallReport> {
  return readReport(db, reportOf(asked), at);
}

/** Its rows, without the totals, as chunks of CSV with a header line. */
export function exportCallReport(db: Database, asked: CallsAsked): AsyncGenerator<string> {
  return exportReport(db, reportOf(asked));
}

function reportOf(asked: CallsAsked): Report<CallReport["totals"]> {
  return {
    span: asked,
    keys: call_keys[asked.group_by],
    counts: call_counts,
    countsOf,
    counting: countingOf(asked),
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

/** A call that was answered came to that, whatever ended it. */
const came_to = sql`case
  when c.stage <> 'ended' then 'in_progress'
  when c.ended_reason = 'playback_failed' then 'failed'
  when c.answered_at is not null then case c.answered_by when 'machine' then 'machine' else 'answered' end
  when c.status in ('busy', 'canceled') then c.status
  when c.status = 'no-answer' then 'no_answer'
  else 'failed' end`;

const outcomes = ["answered", "machine", "busy", "no_answer", "failed", "canceled", "in_progress"];
const sums = ["talks", "talk_seconds", "ring_seconds", "billed_seconds", "cost"];

/**
 * First by what stands in the rows, and then, of the few that are left, by what is meant by it. Calls and
 * those who talked on them are read side by side in the order of the calls' ids.
 */
function countingOf(asked: CallsAsked): Counting {
  const { account_id, campaign_id, number } = asked;
  const { parts, key, keyJoins, sort, names, joins } = groupOf(asked);
  const conditions = sql.join(conditionsOf(asked), sql` and `);
  // Those that an index has.
  const sorted = sql.join(conditionsOf({ ...asked, type: undefined }), sql` and `);
  const ctes = sql`
    ids as materialized (
      select min(id) as first, max(id) as last from (select c.id from calls c where ${sorted} offset 0) c
    ),
    found as (
      select ${parts}, ${came_to} as came_to, count(*) as calls,
        count(*) filter (
          where c.answered_at is not null and (c.recipient_id is null or a.call_id is not null)) as connected,
        count(c.talk_seconds) as talks, sum(c.talk_seconds) as talk_seconds,
        sum(c.ring_seconds) as ring_seconds, sum(c.billed_seconds) as billed_seconds, sum(c.cost) as cost
      from calls c
      left join (${talksOf(asked)}) a on a.call_id = c.id
      where ${conditions} and c.id between (select first from ids) and (select last from ids)
      group by part, more, came_to
    ),
    counted as (
      select grouping(key) = 1 as is_total, key, coalesce(sum(calls), 0)::bigint as calls,
        ${sql.join(
          outcomes.map(
            (one) =>
              sql`coalesce(sum(calls) filter (where came_to = ${sql.lit(one)}), 0)::bigint as ${sql.ref(one)}`,
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
 * The calls that an agent talked on, each with the one who came last. Of click-to-calls that is only
 * looked for where it is asked who: their customers are called once an agent has answered.
 */
function talksOf({ account_id, group_by }: CallsAsked): RawBuilder<unknown> {
  const of = group_by === "agent" ? sql`` : sql`and l.role = 'transfer'`;
  return sql`
    select distinct on (l.call_id) l.call_id, l.number from call_legs l
    where l.account_id = ${account_id} and l.role <> 'customer' and l.answered_at is not null ${of}
      and l.call_id between (select first from ids) and (select last from ids)
    order by l.call_id, l.id desc`;
}

function conditionsOf({ account_id, from, to, type, campaign_id, number }: CallsAsked) {
  const conditions = [
    sql`c.account_id = ${account_id}`,
    sql`c.queued_at >= ${from}`,
    sql`c.queued_at < ${to}`,
  ];
  if (type === "click_to_call") conditions.push(sql`c.recipient_id is null`);
  if (type === "voice_campaign") conditions.push(sql`c.recipient_id is not null`);
  if (campaign_id !== undefined) conditions.push(sql`c.campaign_id = ${campaign_id}`);
  if (number !== undefined)
    conditions.push(
      sql`(c.from_number = ${number.agent} or c.to_phone = ${number.customer}::text)`,
    );
  return conditions;
}

type Group = Pick<Counting, "sort" | "names" | "joins"> & {
  /** Of the row: `part`, and where it does not tell the group, `more`. */
  readonly parts: RawBuilder<unknown>;
  /** The group, of `f` and `keyJoins`. */
  readonly key: RawBuilder<unknown>;
  readonly keyJoins: RawBuilder<unknown>;
};

function groupOf({ account_id, group_by, time_zone, country_code }: CallsAsked): Group {
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
        // As the leader chooses what to show (calls/leader/dialer/trunk-line.ts).
        parts: sql`case when c.recipient_id is not null then c.from_number else c.cli_number end as part,
          case when c.recipient_id is null and c.cli_number is null then c.trunk_id end as more`,
        key: sql`coalesce(part, t.caller_ids[1])`,
        keyJoins: sql`left join trunks t on t.id = more`,
        sort: byRank,
        names: sql`key as caller_id`,
        joins: sql``,
      };
    case "agent":
      return {
        ...ofPart,
        parts: sql`coalesce(a.number, case when c.recipient_id is null then c.from_number end) as part,
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
