// Counts campaigns' messages and replies. Each recipient counts once, at the time of its last dispatch; if there is none,
// of its end; or else of its campaign's start.
import { sql, type RawBuilder } from "kysely";
import { countOfState, recipientStates } from "../chat/recipients/recipient-states.ts";
import { quarterOf } from "./report-page.ts";
import type { ReportRange } from "./report-range.ts";

/** Which messages are counted. */
export type MessageSelection = ReportRange & {
  readonly account_id: number;
  readonly now: Date;
  readonly campaign_id?: number | undefined;
  readonly chat_number_id?: number | undefined;
};

/** What a count is grouped by: its campaign, its number, or the quarter-hour or instant at which it counts. */
export type MessageDimension = "campaign_id" | "chat_number_id" | "at";

const quarter_ms = 900_000;

/** The recipient states of each count, as in a campaign's record. */
const states_of = {
  sent: recipientStates.filter((state) => countOfState[state] === "sent"),
  delivered: ["delivered", "read"],
  read: ["read"],
  failed: recipientStates.filter((state) => countOfState[state] === "failed"),
  pending: recipientStates.filter((state) => countOfState[state] === "pending"),
} as const;

/** The columns of counts, in the order of countMessages. */
export const counted_columns = [
  "sent",
  "delivered",
  "read",
  "failed",
  "pending",
  "credits",
  "replies",
  "opt_outs",
] as const;

/**
 * Returns CTEs, the last of them `found`: the selected counts by `part`. Whole quarter-hours are read from
 * chat_report_counts. Rows are read only of campaigns that are not counted there yet, and for the part of a quarter-hour
 * at an end of the range, of the campaigns with counts in it.
 */
export function countMessages(
  selection: MessageSelection,
  part: MessageDimension,
): RawBuilder<unknown> {
  const { inner_end, edges } = splitRange(selection);
  const parts = [
    countsOfQuarters(selection, inner_end, part),
    restOfCampaigns(selection, part),
    countsOfRecipients(selection, part),
    countsOfReplies(selection, part),
  ];
  return sql`
    spans as materialized (${sql.join([uncounted(selection), ...edges.map((edge) => edgeOf(selection, edge))], sql` union all `)}),
    found as (${sql.join(parts, sql` union all `)})`;
}

type Split = { readonly inner_end: Date; readonly edges: readonly ReportRange[] };

/** Nothing counts later than now: a range that ends then has no part of a quarter-hour at its end. */
function splitRange({ from, to, now }: MessageSelection): Split {
  const first = new Date(Math.ceil(from.getTime() / quarter_ms) * quarter_ms);
  const end = to >= now ? to : new Date(Math.floor(to.getTime() / quarter_ms) * quarter_ms);
  if (first > end) return { inner_end: end, edges: [{ from, to }] };
  const edges = [
    { from, to: first },
    { from: end, to },
  ];
  return { inner_end: end, edges: edges.filter((edge) => edge.from < edge.to) };
}

/** The campaigns that are not counted yet and overlap the range: counted by all their rows. */
function uncounted({ account_id, from, to, campaign_id }: MessageSelection) {
  return sql`
    select c.id as campaign_id, c.chat_number_id, coalesce(c.started_at, c.created_at) as began,
      ${from}::timestamptz as from_at, ${to}::timestamptz as to_at
    from chat_campaigns c
    where c.account_id = ${account_id} and not c.report_counted and c.created_at < ${to}
      and (c.finished_at is null or c.finished_at >= ${from})
      ${campaign_id === undefined ? sql`` : sql`and c.id = ${campaign_id}`}`;
}

/** The campaigns with counts in the quarter-hour of which the edge is a part: counted by their rows within it. */
function edgeOf({ account_id, campaign_id }: MessageSelection, { from, to }: ReportRange) {
  const quarter = new Date(Math.floor(from.getTime() / quarter_ms) * quarter_ms);
  return sql`
    select c.id, c.chat_number_id, null, ${from}, ${to}
    from chat_campaigns c
    where c.account_id = ${account_id} and c.report_counted and c.purged_at is null and c.id in (
      select n.campaign_id from chat_report_counts n
      where n.account_id = ${account_id} and n.begins_at = ${quarter}
        ${campaign_id === undefined ? sql`` : sql`and n.campaign_id = ${campaign_id}`})`;
}

/** A quarter-hour whose rows were purged counts as a whole if it begins within the range. */
function countsOfQuarters(
  { account_id, from, to, campaign_id, chat_number_id }: MessageSelection,
  inner_end: Date,
  part: MessageDimension,
) {
  const conditions = [
    sql`n.account_id = ${account_id}`,
    sql`n.begins_at >= ${from}`,
    sql`n.begins_at < ${to}`,
    sql`n.campaign_id <> all (array(
      select c.id from chat_campaigns c where c.account_id = ${account_id} and not c.report_counted))`,
  ];
  if (inner_end < to)
    conditions.push(sql`(n.begins_at < ${inner_end} or exists (
      select from chat_campaigns c
      where c.account_id = ${account_id} and c.id = n.campaign_id and c.purged_at is not null))`);
  if (campaign_id !== undefined) conditions.push(sql`n.campaign_id = ${campaign_id}`);
  if (chat_number_id !== undefined) conditions.push(sql`n.chat_number_id = ${chat_number_id}`);
  const columns = counted_columns.map((one) => sql`sum(n.${sql.ref(one)}) as ${sql.ref(one)}`);
  const of = part === "at" ? "begins_at" : part;
  return sql`select n.${sql.ref(of)} as part, ${sql.join(columns)}
    from chat_report_counts n where ${sql.join(conditions, sql` and `)}
    group by 1`;
}

/** Recipients that were neither dispatched nor ended are pending in open campaigns, and have no counts. */
function restOfCampaigns(
  { account_id, from, to, campaign_id, chat_number_id }: MessageSelection,
  part: MessageDimension,
) {
  const conditions = [
    sql`c.account_id = ${account_id}`,
    sql`c.finished_at is null`,
    sql`c.report_counted`,
    sql`b.at >= ${from}`,
    sql`b.at < ${to}`,
  ];
  if (campaign_id !== undefined) conditions.push(sql`c.id = ${campaign_id}`);
  if (chat_number_id !== undefined) conditions.push(sql`c.chat_number_id = ${chat_number_id}`);
  const of = { campaign_id: sql`c.id`, chat_number_id: sql`c.chat_number_id`, at: sql`b.at` }[part];
  return sql`
    select ${of}, 0, 0, 0, 0, c.total - n.attempted, 0, 0, 0
    from chat_campaigns c
    cross join lateral (select coalesce(c.started_at, c.created_at) as at) b
    cross join lateral (
      select coalesce(sum(n.sent + n.failed + n.pending), 0) as attempted from chat_report_counts n
      where n.account_id = ${account_id} and n.campaign_id = c.id) n
    where ${sql.join(conditions, sql` and `)}`;
}

/** Looked up by campaign, whatever the statistics are: usually there is no span. */
function countsOfRecipients(
  { account_id, chat_number_id }: MessageSelection,
  part: MessageDimension,
) {
  const counts = Object.values(states_of).map(
    (states) =>
      sql`count(*) filter (where r.state in (${sql.join(states.map((state) => sql.lit(state)))}))`,
  );
  const of = part === "at" ? quarterOf(sql`r.at`) : sql`s.${sql.ref(part)}`;
  return sql`
    select ${of}, ${sql.join(counts)}, count(*) filter (where r.charged), 0, 0
    from spans s
    cross join lateral (
      select r.state, r.charged, coalesce(r.dispatched_at, r.accepted_at, r.ended_at, s.began) as at
      from chat_recipients r
      where r.account_id = ${account_id} and r.campaign_id = s.campaign_id offset 0) r
    where r.at >= s.from_at and r.at < s.to_at
      ${chat_number_id === undefined ? sql`` : sql`and s.chat_number_id = ${chat_number_id}`}
    group by 1`;
}

function countsOfReplies({ account_id, chat_number_id }: MessageSelection, part: MessageDimension) {
  const of = part === "at" ? quarterOf(sql`r.received_at`) : sql`r.${sql.ref(part)}`;
  return sql`
    select ${of}, ${sql.join(Object.keys(states_of).map(() => sql`0`))}, 0, count(*),
      count(*) filter (where r.opted_out)
    from spans s
    cross join lateral (
      select r.* from chat_replies r
      where r.account_id = ${account_id} and r.campaign_id = s.campaign_id offset 0) r
    where r.received_at >= s.from_at and r.received_at < s.to_at
      ${chat_number_id === undefined ? sql`` : sql`and r.chat_number_id = ${chat_number_id}`}
    group by 1`;
}
