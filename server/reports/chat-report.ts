// Campaign messages counted by campaign, day or number. Each recipient counts once, at the time of its last
// dispatch; if there is none, of its end; or else of its campaign's start.
import { sql, type RawBuilder } from "kysely";
import { countOfState, recipientStates } from "../chat/recipients/recipient-states.ts";
import type { Database } from "../lib/database/database.ts";
import {
  dayOf,
  exportReport,
  quarterOf,
  ratio,
  readReport,
  type CountedRow,
  type Counting,
  type Report,
} from "./report-page.ts";
import { chat_counts, chat_keys, type ChatGroup, type ChatReport } from "./report-schema.ts";
import type { ReportRange } from "./report-range.ts";

/** Which messages are counted, and how they are grouped. */
export type ChatReportQuery = ReportRange & {
  readonly account_id: number;
  readonly time_zone: string;
  readonly now: Date;
  readonly group_by: ChatGroup;
  readonly campaign_id?: number | undefined;
  readonly chat_number_id?: number | undefined;
};

/** Returns a page of the report. Throws 422 on an invalid cursor. */
export function readChatReport(
  db: Database,
  query: ChatReportQuery,
  at: { limit: number; cursor?: string | undefined },
): Promise<ChatReport> {
  return readReport(db, reportOf(query), at);
}

/** Returns the report's rows, without the totals, as chunks of CSV with a header line. */
export function exportChatReport(db: Database, query: ChatReportQuery): AsyncGenerator<string> {
  return exportReport(db, reportOf(query));
}

function reportOf(query: ChatReportQuery): Report<ChatReport["totals"]> {
  return {
    account_id: query.account_id,
    range: query,
    keys: chat_keys[query.group_by],
    counts: chat_counts,
    countsOf,
    counting: async () => countingOf(query),
  };
}

function countsOf(row: CountedRow): ChatReport["totals"] {
  const n = row as unknown as Record<(typeof chat_counts)[number], number>;
  const counts = Object.fromEntries(chat_counts.map((count) => [count, n[count]]));
  return {
    ...(counts as ChatReport["totals"]),
    delivery_rate: ratio(n.delivered, n.sent),
    read_rate: ratio(n.read, n.delivered),
  };
}

/** The recipient states of each count, as in a campaign's record. */
const states_of = {
  total: recipientStates,
  sent: recipientStates.filter((state) => countOfState[state] === "sent"),
  delivered: ["delivered", "read"],
  read: ["read"],
  failed: recipientStates.filter((state) => countOfState[state] === "failed"),
  pending: recipientStates.filter((state) => countOfState[state] === "pending"),
} as const;

const counts = Object.entries(states_of);

/** The counts from counter slots, whose columns are states. */
const fromSlots = sql.join(
  counts.map(
    ([count, states]) =>
      sql`sum(${sql.join(
        states.map((state) => sql.ref(`n.${state}`)),
        sql` + `,
      )}) as ${sql.ref(count)}`,
  ),
);

/** The counts from recipients, `n` in each state. */
const fromStates = sql.join(
  counts.map(
    ([count, states]) =>
      sql`sum(n) filter (where state in (${sql.join(states.map((state) => sql.lit(state)))})) as ${sql.ref(count)}`,
  ),
);

/**
 * Campaigns within the time range, and within one day when grouped by day, are counted from their counter
 * slots and the ledger; only others are counted by recipient. A campaign whose recipients were purged counts
 * as a whole at its creation.
 */
function countingOf(query: ChatReportQuery): Counting {
  const { account_id, from, to, now, time_zone, group_by } = query;
  const { key, sort, names, joins } = groupOf(query);
  const last = sql`coalesce(c.finished_at, ${now}::timestamptz)`;
  const isOneDay =
    group_by === "day"
      ? sql`and ${dayOf(sql`c.created_at`, time_zone)} = ${dayOf(last, time_zone)}`
      : sql``;
  const ctes = sql`
    selected as materialized (
      select c.id as campaign_id, c.chat_number_id, c.reservation_id, c.created_at,
        coalesce(c.started_at, c.created_at) as began,
        c.created_at >= ${from} and (c.purged_at is not null
          or (coalesce(c.finished_at < ${to}, ${now}::timestamptz <= ${to}) ${isOneDay})) as is_whole,
        c.purged_at, c.purged_replies
      from chat_campaigns c
      where ${sql.join(conditionsOf(query), sql` and `)}
    ),
    whole as (
      select campaign_id, chat_number_id, created_at as at, n.*, c.purged_replies as replies, 0 as opt_outs,
        p.credits
      from selected c
      cross join lateral (
        select ${fromSlots} from chat_counts n
        where n.account_id = ${account_id} and n.campaign_id = c.campaign_id) n
      cross join lateral (
        select coalesce(sum(case when t.type = 'capture' then t.amount else -t.amount end), 0) as credits
        from credit_transfers t
        where t.account_id = ${account_id} and t.reservation_id = c.reservation_id
          and t.type in ('capture', 'refund')) p
      where c.is_whole
    ),
    states as (
      select c.campaign_id, c.chat_number_id, r.state, ${quarterOf(sql`t.at`)} as quarter, count(*) as n,
        count(*) filter (where r.charged) as charged
      from selected c
      join chat_recipients r on r.account_id = ${account_id} and r.campaign_id = c.campaign_id
      cross join lateral (select coalesce(r.dispatched_at, r.ended_at, c.began) as at) t
      where not c.is_whole and c.purged_at is null and t.at >= ${from} and t.at < ${to}
      group by c.campaign_id, c.chat_number_id, r.state, quarter
    ),
    parts as (
      select campaign_id, chat_number_id, quarter as at, ${fromStates}, 0 as replies, 0 as opt_outs,
        sum(charged) as credits
      from states group by campaign_id, chat_number_id, quarter
    ),
    replied as (
      select r.campaign_id, r.chat_number_id, r.received_at as at, ${sql.join(counts.map(() => sql`0`))},
        1 as replies, r.opted_out::int as opt_outs, 0 as credits
      from chat_replies r
      where ${sql.join(replyConditionsOf(query), sql` and `)}
    ),
    found as (
      select ${key} as key, f.* from (
        select * from whole union all select * from parts union all select * from replied) f
    ),
    counted as (
      select grouping(key) = 1 as is_total, key, ${sql.join(
        [...Object.keys(states_of), "replies", "opt_outs", "credits"].map(
          (count) => sql`coalesce(sum(${sql.ref(count)}), 0)::bigint as ${sql.ref(count)}`,
        ),
      )}
      from found group by grouping sets ((key), ())
    )`;
  return { in_order: false, ctes, sort, names, joins };
}

/** Selects the campaigns that overlap the time range. */
function conditionsOf({ account_id, from, to, campaign_id, chat_number_id }: ChatReportQuery) {
  const conditions = [
    sql`c.account_id = ${account_id}`,
    sql`c.created_at < ${to}`,
    sql`(c.finished_at is null or c.finished_at >= ${from})`,
  ];
  if (campaign_id !== undefined) conditions.push(sql`c.id = ${campaign_id}`);
  if (chat_number_id !== undefined) conditions.push(sql`c.chat_number_id = ${chat_number_id}`);
  return conditions;
}

function replyConditionsOf({ account_id, from, to, campaign_id, chat_number_id }: ChatReportQuery) {
  const conditions = [
    sql`r.account_id = ${account_id}`,
    sql`r.campaign_id is not null`,
    sql`r.received_at >= ${from}`,
    sql`r.received_at < ${to}`,
  ];
  if (campaign_id !== undefined) conditions.push(sql`r.campaign_id = ${campaign_id}`);
  if (chat_number_id !== undefined) conditions.push(sql`r.chat_number_id = ${chat_number_id}`);
  return conditions;
}

type Group = Pick<Counting, "sort" | "names" | "joins"> & { readonly key: RawBuilder<unknown> };

function groupOf({ account_id, group_by, time_zone }: ChatReportQuery): Group {
  switch (group_by) {
    case "campaign":
      return {
        key: sql`f.campaign_id`,
        sort: sql`-key`,
        names: sql`key as campaign_id, c.name as campaign_name`,
        joins: sql`left join chat_campaigns c on c.account_id = ${account_id} and c.id = key`,
      };
    case "day":
      return {
        key: dayOf(sql`f.at`, time_zone),
        sort: sql`(key - date '1970-01-01')::bigint`,
        names: sql`key::text as date`,
        joins: sql``,
      };
    case "number":
      return {
        key: sql`f.chat_number_id`,
        sort: sql`key`,
        names: sql`key as chat_number_id, c.phone as phone_number`,
        joins: sql`left join chat_numbers c on c.account_id = ${account_id} and c.id = key`,
      };
  }
}
