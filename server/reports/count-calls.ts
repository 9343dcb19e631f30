// Counts calls and the outcomes of calls from their rows: each attempt once, by the time it was queued.
import { sql, type RawBuilder } from "kysely";
import { agent_took_leg } from "../calls/agent-took-leg.ts";
import type { NumberForms } from "../calls/records/call-records.ts";
import type { CallRecordType } from "../calls/records/call-record-schema.ts";
import type { ReportRange } from "./report-range.ts";

/** Which calls are counted. */
export type CallSelection = ReportRange & {
  readonly account_id: number;
  readonly type?: CallRecordType | undefined;
  readonly campaign_id?: number | undefined;
  /** The agent's or the customer's. */
  readonly number?: NumberForms | undefined;
};

/**
 * The outcome of a call: an answered call counts as answered, whatever ended it, and an incoming call also if no agent
 * took it. Days are stored by it (fold-calls.ts).
 */
export const callOutcome = sql`case
  when c.stage <> 'ended' then 'in_progress'
  when c.ended_reason = 'playback_failed' or c.disposition = 'failed' then 'failed'
  when c.answered_at is not null then case when c.answered_by = 'machine' then 'machine' else 'answered' end
  when c.status in ('busy', 'canceled') then c.status
  when c.status = 'no-answer' then 'no_answer'
  else 'failed' end`;

const outcomes = [
  "answered",
  "machine",
  "busy",
  "no_answer",
  "failed",
  "canceled",
  "in_progress",
] as const;
const sums = [
  "connected",
  "talks",
  "talk_seconds",
  "ring_seconds",
  "billed_seconds",
  "cost",
] as const;

/** The columns of counts, in the order of countCalls. */
export const counted_columns = ["calls", ...outcomes, ...sums] as const;

const isClickToCall = sql`c.recipient_id is null and c.direction = 'outbound'`;

/** What a call `c` is grouped by; `a` is the last agent who took it. */
export const callDimensions = {
  type: sql`case when c.direction = 'inbound' then 'incoming'
    when c.recipient_id is null then 'click_to_call' else 'voice_campaign' end`,
  campaign_id: sql`case when c.recipient_id is not null then c.campaign_id end`,
  /** The caller ID that the node leader chooses (calls/leader/dialer/trunk-line.ts); null: the trunk's default. */
  caller: sql`case when c.recipient_id is not null or c.direction = 'inbound' then c.from_number
    else c.cli_number end`,
  trunk_id: sql`case when ${isClickToCall} and c.cli_number is null then c.trunk_id end`,
  agent: sql`coalesce(a.number, case when ${isClickToCall} then c.from_number end)`,
} as const;

/**
 * Returns CTEs, the last of them `name`: the counts of the selected calls by `columns`, by name. `with_agents` is
 * needed to group by agent. Groups first by columns of the rows and by outcome. Calls and their legs are merged in
 * the order of the calls' ids.
 */
export function countCalls(
  name: string,
  selection: CallSelection,
  columns: Readonly<Record<string, RawBuilder<unknown>>>,
  with_agents: boolean,
): RawBuilder<unknown> {
  const conditions = sql.join(conditionsOf(selection), sql` and `);
  // Only the conditions that an index covers.
  const sorted = sql.join(conditionsOf({ ...selection, type: undefined }), sql` and `);
  const ids = sql.ref(`${name}_ids`);
  const names = sql.join(Object.keys(columns).map((column) => sql.ref(column)));
  const parts = Object.entries(columns).map(([column, of]) => sql`${of} as ${sql.ref(column)}`);
  return sql`
    ${ids} as materialized (
      select min(id) as first, max(id) as last from (select c.id from calls c where ${sorted} offset 0) c
    ),
    ${sql.ref(name)} as (
      select ${names}, sum(calls) as calls,
        ${sql.join(outcomes.map((one) => sql`sum(calls) filter (where outcome = ${sql.lit(one)}) as ${sql.ref(one)}`))},
        ${sql.join(sums.map((one) => sql`sum(${sql.ref(one)}) as ${sql.ref(one)}`))}
      from (
        select ${names}, outcome, count(*) as calls, count(*) filter (where is_connected) as connected,
          count(talk_seconds) as talks, sum(talk_seconds) as talk_seconds, sum(ring_seconds) as ring_seconds,
          sum(billed_seconds) as billed_seconds, sum(cost) as cost
        from (
          select ${sql.join(parts)}, ${callOutcome} as outcome,
            c.answered_at is not null and (${isClickToCall} or a.call_id is not null) as is_connected,
            c.talk_seconds, c.ring_seconds, c.billed_seconds, c.cost
          from calls c
          left join (${talksOf(selection.account_id, ids, with_agents)}) a on a.call_id = c.id
          where ${conditions} and c.id between (select first from ${ids}) and (select last from ${ids})) c
        group by ${names}, outcome) c
      group by ${names}
    )`;
}

/**
 * Selects the calls that an agent took, each with the last agent: the target of the last transfer, or else the first
 * of the agents who answered, as agentOnLine() does. For click-to-calls this is only needed when grouping by agent,
 * because their customers are called only after an agent has answered.
 */
function talksOf(account_id: number, ids: RawBuilder<unknown>, with_agents: boolean) {
  const of = with_agents ? sql`` : sql`and l.role = 'transfer'`;
  return sql`
    select distinct on (l.call_id) l.call_id, l.number from call_legs l
    where l.account_id = ${account_id} and l.role <> 'customer' and ${sql.raw(agent_took_leg)} ${of}
      and l.call_id between (select first from ${ids}) and (select last from ${ids})
    order by l.call_id, l.role = 'transfer' desc, case when l.role = 'transfer' then -l.id end, l.answered_at, l.id`;
}

function conditionsOf({ account_id, from, to, type, campaign_id, number }: CallSelection) {
  const conditions = [
    sql`c.account_id = ${account_id}`,
    sql`c.queued_at >= ${from}`,
    sql`c.queued_at < ${to}`,
  ];
  if (type === "click_to_call") conditions.push(isClickToCall);
  if (type === "incoming") conditions.push(sql`c.direction = 'inbound'`);
  if (type === "voice_campaign") conditions.push(sql`c.recipient_id is not null`);
  if (campaign_id !== undefined) conditions.push(sql`c.campaign_id = ${campaign_id}`);
  if (number !== undefined)
    conditions.push(
      sql`(c.from_number = any (${number.agent}::text[]) or c.to_phone = any (${number.customer}::text[]))`,
    );
  return conditions;
}
