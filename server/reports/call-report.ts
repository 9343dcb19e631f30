// Calls counted by campaign, day, number or agent: each attempt once, by the time it was queued.
import { sql, type RawBuilder } from "kysely";
import type { Database, Tx } from "../lib/database/database.ts";
import { defaultCallerIds } from "../telephony/trunks/default-caller-ids.ts";
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
import { callDimensions, countCalls, counted_columns, type CallSelection } from "./count-calls.ts";
import { findFoldedDays, type FoldedRange } from "./folded-days.ts";

/** Which calls are counted, and how they are grouped. */
export type CallReportQuery = CallSelection & {
  readonly time_zone: string;
  readonly country_code: string;
  readonly group_by: CallGroup;
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
    account_id: query.account_id,
    range: query,
    keys: call_keys[query.group_by],
    counts: call_counts,
    countsOf,
    counting: (tx) => countingOf(tx, query),
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

/** Counts folded days from their counts, and the rest of the range from the calls. */
async function countingOf(tx: Tx, query: CallReportQuery): Promise<Counting> {
  const { campaign_id, number, group_by } = query;
  const { parts, key, keyCtes, keyJoins, sort, names, joins } = groupOf(query);
  const { days, gaps } = await foldedRangeOf(tx, query);
  const counted = gaps.map((gap, i) =>
    countCalls(
      `gap_${i}`,
      { ...query, ...gap },
      parts(callDimensions, sql`c.queued_at`),
      group_by === "agent",
    ),
  );
  const sources = [
    ...gaps.map((_, i) => sql`select * from ${sql.ref(`gap_${i}`)}`),
    sql`(${countsOfDays(query, days, parts(folded_dimensions, sql`n.begins_at`))})`,
  ];
  const ctes = sql`
    ${sql.join([...counted, sql`found as (${sql.join(sources, sql` union all `)})`, ...keyCtes])},
    counted as (
      select grouping(key) = 1 as is_total, key, ${sql.join(
        counted_columns.map(
          (one) => sql`coalesce(sum(${sql.ref(one)}), 0)::bigint as ${sql.ref(one)}`,
        ),
      )}
      from (select f.*, ${key} as key from found f ${keyJoins}) f
      group by grouping sets ((key), ())
    )`;
  const in_order = campaign_id === undefined && number === undefined;
  return { in_order, ctes, sort, names, joins };
}

/** A number, or the campaign of a click-to-call, has few calls, and no counts. */
async function foldedRangeOf(tx: Tx, query: CallReportQuery): Promise<FoldedRange> {
  const { account_id, campaign_id, number, time_zone } = query;
  const unfolded = { days: [], gaps: [{ from: query.from, to: query.to }] };
  if (number !== undefined) return unfolded;
  if (campaign_id !== undefined) {
    const campaign = await tx
      .selectFrom("voice_campaigns")
      .select("id")
      .where("account_id", "=", account_id)
      .where("id", "=", campaign_id)
      .executeTakeFirst();
    if (!campaign) return unfolded;
  }
  return findFoldedDays(tx, account_id, query, time_zone);
}

const folded_dimensions: typeof callDimensions = {
  type: sql`n.type`,
  campaign_id: sql`n.campaign_id`,
  caller: sql`n.caller`,
  trunk_id: sql`n.trunk_id`,
  agent: sql`n.agent`,
};

/** Selects the counts of folded days in the shape of countCalls, grouped before they are mapped to their keys. */
function countsOfDays(
  { account_id, type, campaign_id }: CallReportQuery,
  days: readonly Date[],
  parts: Parts,
): RawBuilder<unknown> {
  const conditions = [
    sql`n.account_id = ${account_id}`,
    sql`n.begins_at = any (${[...days]}::timestamptz[])`,
  ];
  if (type !== undefined) conditions.push(sql`n.type = ${type}`);
  if (campaign_id !== undefined) conditions.push(sql`n.campaign_id = ${campaign_id}`);
  // All calls of a folded day have ended.
  const columns = counted_columns.map((one) =>
    one === "in_progress" ? sql`0` : sql`sum(n.${sql.ref(one)})`,
  );
  return sql`select ${parts["part"]}, ${parts["more"]}, ${sql.join(columns)}
    from call_report_counts n where ${sql.join(conditions, sql` and `)}
    group by 1, 2`;
}

type Parts = Readonly<Record<"part" | "more", RawBuilder<unknown>>>;

type Group = Pick<Counting, "sort" | "names" | "joins"> & {
  /** Columns of a call or of counts: `part`, and `more` where `part` does not determine the group. */
  readonly parts: (of: typeof callDimensions, time: RawBuilder<unknown>) => Parts;
  /** The group's key, from `f` and `keyJoins`; `keyCtes` read `found`. */
  readonly key: RawBuilder<unknown>;
  readonly keyCtes: readonly RawBuilder<unknown>[];
  readonly keyJoins: RawBuilder<unknown>;
};

const none = sql`null::bigint`;
/** The trunks whose default caller ID some calls show. */
const trunksOfCalls = sql`array(select more from found where more is not null)`;

function groupOf({ account_id, group_by, time_zone, country_code }: CallReportQuery): Group {
  const ofPart = { key: sql`part`, keyCtes: [], keyJoins: sql`` };
  switch (group_by) {
    case "campaign":
      return {
        ...ofPart,
        parts: ({ campaign_id }) => ({ part: campaign_id, more: none }),
        sort: sql`coalesce(-key, 0)`,
        names: sql`key as campaign_id, v.name as campaign_name`,
        joins: sql`left join voice_campaigns v on v.account_id = ${account_id} and v.id = key`,
      };
    case "day":
      return {
        ...ofPart,
        parts: (_, time) => ({ part: quarterOf(time), more: none }),
        key: dayOf(sql`part`, time_zone),
        sort: sql`(key - date '1970-01-01')::bigint`,
        names: sql`key::text as date`,
        joins: sql``,
      };
    case "number":
      return {
        parts: ({ caller, trunk_id }) => ({ part: caller, more: trunk_id }),
        key: sql`coalesce(part, d.caller_id)`,
        keyCtes: [sql`defaults as (${defaultCallerIds(account_id, trunksOfCalls)})`],
        keyJoins: sql`left join defaults d on d.trunk_id = more`,
        sort: byRank,
        names: sql`key as caller_id`,
        joins: sql``,
      };
    case "agent":
      return {
        ...ofPart,
        parts: ({ agent }) => ({ part: agent, more: none }),
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
