// Calls counted by campaign, day, number or agent: each attempt once, by the time it was queued.
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { NumberForms } from "../calls/call-records.ts";
import type { DB } from "../lib/database.ts";
import {
  byRank,
  dayOf,
  exportReport,
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
  db: Kysely<DB>,
  asked: CallsAsked,
  at: { limit: number; cursor?: string | undefined },
): Promise<CallReport> {
  return readReport(db, reportOf(asked), at);
}

/** Its rows, without the totals, as chunks of CSV with a header line. */
export function exportCallReport(db: Kysely<DB>, asked: CallsAsked): AsyncGenerator<string> {
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

function countingOf(asked: CallsAsked): Counting {
  const { account_id, group_by } = asked;
  const { key, sort, names, joins } = groupOf(asked);
  const ctes = sql`
    talks as materialized (${talksOf(asked)}),
    found as (
      select ${key} as key, ${came_to} as came_to, c.ring_seconds, c.talk_seconds, c.billed_seconds, c.cost,
        c.answered_at is not null and (c.recipient_id is null or a.call_id is not null) as connected
      from calls c
      left join talks a on a.call_id = c.id
      ${group_by === "number" ? sql`left join trunks t on t.id = c.trunk_id` : sql``}
      where ${sql.join(conditionsOf(asked), sql` and `)}
    ),
    counted as (
      select grouping(key) = 1 as is_total, key, count(*) as calls,
        ${sql.join(
          ["answered", "machine", "busy", "no_answer", "failed", "canceled", "in_progress"].map(
            (one) => sql`count(*) filter (where came_to = ${sql.lit(one)}) as ${sql.ref(one)}`,
          ),
        )},
        count(*) filter (where connected) as connected, count(talk_seconds) as talks,
        ${sql.join(
          ["talk_seconds", "ring_seconds", "billed_seconds", "cost"].map(
            (one) => sql`coalesce(sum(${sql.ref(one)}), 0) as ${sql.ref(one)}`,
          ),
        )}
      from found group by grouping sets ((key), ())
    )`;
  return { account_id, ctes, sort, names, joins };
}

/**
 * The calls that an agent talked on, each with the one who came last. Of click-to-calls that is only
 * looked for where it is asked who: their customers are called once an agent has answered.
 */
function talksOf({ account_id, from, group_by }: CallsAsked): RawBuilder<unknown> {
  const of = group_by === "agent" ? sql`` : sql`and l.role = 'transfer'`;
  return sql`
    select distinct on (l.call_id) l.call_id, l.number from call_legs l
    where l.account_id = ${account_id} and l.role <> 'customer' and l.answered_at is not null
      and l.initiated_at >= ${from} ${of}
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

type Group = Pick<Counting, "sort" | "names" | "joins"> & { readonly key: RawBuilder<unknown> };

function groupOf({ account_id, group_by, time_zone, country_code }: CallsAsked): Group {
  switch (group_by) {
    case "campaign":
      return {
        key: sql`case when c.recipient_id is not null then c.campaign_id end`,
        sort: sql`coalesce(-key, 0)`,
        names: sql`key as campaign_id, v.name as campaign_name`,
        joins: sql`left join voice_campaigns v on v.account_id = ${account_id} and v.id = key`,
      };
    case "day":
      return {
        key: dayOf(sql`c.queued_at`, time_zone),
        sort: sql`(key - date '1970-01-01')::bigint`,
        names: sql`key::text as date`,
        joins: sql``,
      };
    case "number":
      return {
        // As the leader chooses what to show (calls/leader/trunk-line.ts).
        key: sql`case when c.recipient_id is not null then c.from_number
          else coalesce(c.cli_number, t.caller_ids[1]) end`,
        sort: byRank,
        names: sql`key as caller_id`,
        joins: sql``,
      };
    case "agent":
      return {
        key: sql`coalesce(a.number, case when c.recipient_id is null then c.from_number end)`,
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
