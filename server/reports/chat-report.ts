// Campaign messages counted by campaign, day or number.
import { sql, type RawBuilder } from "kysely";
import type { Database } from "../lib/database/database.ts";
import {
  dayOf,
  exportReport,
  ratio,
  readReport,
  type CountedRow,
  type Counting,
  type Report,
} from "./report-page.ts";
import { chat_counts, chat_keys, type ChatGroup, type ChatReport } from "./report-schema.ts";
import {
  counted_columns,
  countMessages,
  type MessageDimension,
  type MessageSelection,
} from "./count-messages.ts";

/** Which messages are counted, and how they are grouped. */
export type ChatReportQuery = MessageSelection & {
  readonly time_zone: string;
  readonly group_by: ChatGroup;
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

/** A group whose messages have all moved to another day, by a retry, is left out. */
function countingOf(query: ChatReportQuery): Counting {
  const { part, key, sort, names, joins } = groupOf(query);
  const columns = counted_columns.map(
    (one) => sql`coalesce(sum(${sql.ref(one)}), 0)::bigint as ${sql.ref(one)}`,
  );
  const total = sql`coalesce(sum(sent + failed + pending), 0)::bigint`;
  const ctes = sql`
    ${countMessages(query, part)},
    counted as (
      select grouping(key) = 1 as is_total, key, ${total} as total, ${sql.join(columns)}
      from (select ${key} as key, f.* from found f) f
      group by grouping sets ((key), ())
      having grouping(key) = 1 or ${total} <> 0 or sum(replies) <> 0
    )`;
  return { in_order: false, ctes, sort, names, joins };
}

type Group = Pick<Counting, "sort" | "names" | "joins"> & {
  readonly part: MessageDimension;
  /** The group's key, from `part`. */
  readonly key: RawBuilder<unknown>;
};

function groupOf({ account_id, group_by, time_zone }: ChatReportQuery): Group {
  switch (group_by) {
    case "campaign":
      return {
        part: "campaign_id",
        key: sql`part`,
        sort: sql`-key`,
        names: sql`key as campaign_id, c.name as campaign_name`,
        joins: sql`left join chat_campaigns c on c.account_id = ${account_id} and c.id = key`,
      };
    case "day":
      return {
        part: "at",
        key: dayOf(sql`part`, time_zone),
        sort: sql`(key - date '1970-01-01')::bigint`,
        names: sql`key::text as date`,
        joins: sql``,
      };
    case "number":
      return {
        part: "chat_number_id",
        key: sql`part`,
        sort: sql`key`,
        names: sql`key as chat_number_id, c.phone as phone_number`,
        joins: sql`left join chat_numbers c on c.account_id = ${account_id} and c.id = key`,
      };
  }
}
