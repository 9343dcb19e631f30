// Lists the replies to the account's chat numbers.
import { sql, type Kysely } from "kysely";
import type { App } from "../../engine/app.ts";
import { writeCsv, type Cell } from "../../lib/csv/write-csv.ts";
import {
  decodeCursor,
  endOfSearch,
  page,
  readBounded,
  type BoundedRows,
} from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { searches } from "../../lib/database/searches.ts";
import type { ReplyAnswer } from "../messages/reply-answer.ts";
import { ReplyResponse } from "./reply-schema.ts";

const csv_page_rows = 1_000;

const columns = Object.keys(ReplyResponse.properties) as readonly (keyof ReplyResponse)[];

/** The filters of a list of replies; each is optional and all must match. */
export type ReplyFilter = {
  /** E.164 digits without the plus. */
  readonly phone?: string | undefined;
  readonly bsuid?: string | undefined;
  readonly campaign_id?: number | undefined;
  readonly opted_out?: boolean | undefined;
};

/** Returns a page of replies, newest first; 422 for a cursor of another list. */
export async function listReplies(
  db: Kysely<DB>,
  accountId: number,
  filter: ReplyFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ data: ReplyResponse[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : decodeCursor(cursor);
  const end = await endOfReplies(db, accountId, filter, before);
  const found = await repliesBefore(db, accountId, filter, { id: before, end, limit: limit + 1 });
  const { rows, next } = page(found, limit, end);
  return { data: rows, next_cursor: next };
}

/** Yields the matching replies, newest first, as chunks of CSV with a header line. */
export function exportReplies(
  { db }: Pick<App, "db">,
  accountId: number,
  filter: ReplyFilter,
): AsyncGenerator<string> {
  return writeCsv<ReplyResponse>({
    header: columns,
    page_rows: csv_page_rows,
    next: (after, limit) =>
      repliesBefore(db.query, accountId, filter, { id: after?.id ?? null, limit }),
    cells: (row) => columns.map((column) => row[column] as Cell),
  });
}

/** The phone of a BSUID may have become known since the reply. */
const phoneNumber = (accountId: number) =>
  sql<string | null>`coalesce(phone, (
  select b.phone_key from person_bsuids b
  where b.account_id = ${accountId} and b.bsuid = chat_replies.bsuid))`.as("phone_number");

function isFrom(accountId: number, phone: string) {
  return sql<boolean>`(phone = any (phone_spellings(${phone})) or (phone is null and bsuid = any (array(
    select b.bsuid from person_bsuids b
    where b.account_id = ${accountId} and b.phone_key = phone_key(${phone})))))`;
}

/** Opt-outs have an index of their own, unless they are of one campaign; a person has few replies. */
async function endOfReplies(
  db: Kysely<DB>,
  accountId: number,
  { phone, bsuid, campaign_id, opted_out }: ReplyFilter,
  before: number | null,
): Promise<number | null> {
  const isOfPerson = phone !== undefined || bsuid !== undefined;
  const isIndexed = isOfPerson || (opted_out === true && campaign_id === undefined);
  if (isIndexed || opted_out === undefined) return null;
  let all = db
    .selectFrom("chat_replies")
    .select("id")
    .where("account_id", "=", accountId)
    .orderBy("id", "desc");
  if (campaign_id !== undefined) all = all.where("campaign_id", "=", campaign_id);
  if (before !== null) all = all.where("id", "<", before);
  return endOfSearch(all);
}

async function repliesBefore(
  db: Kysely<DB>,
  accountId: number,
  filter: ReplyFilter,
  before: { id: number | null; end?: number | null; limit: number },
): Promise<BoundedRows<ReplyResponse>> {
  let query = db
    .selectFrom("chat_replies")
    .select(["id", "chat_number_id", "bsuid", "type", "text", "payload", "content"])
    .select(["campaign_id", "recipient_id", "opted_out", "received_at", "answers"])
    .select(phoneNumber(accountId))
    .where("account_id", "=", accountId);
  if (filter.phone !== undefined) query = query.where(isFrom(accountId, filter.phone));
  if (filter.bsuid !== undefined) query = query.where("bsuid", "=", filter.bsuid);
  if (filter.campaign_id !== undefined) query = query.where("campaign_id", "=", filter.campaign_id);
  if (filter.opted_out !== undefined) query = query.where("opted_out", "=", filter.opted_out);
  if (before.id !== null) query = query.where("id", "<", before.id);
  if (typeof before.end === "number") query = query.where("id", ">=", before.end);
  const newest = query.orderBy("id", "desc").limit(before.limit);
  const found = await searches.use(accountId, () =>
    readBounded(db, newest, { large: ["text", "content", "answers"], order: "id desc" }),
  );
  const rows = found.rows.map((row) => ({
    ...row,
    answers: (row.answers as ReplyAnswer[]).map(withStatus),
    received_at: row.received_at.toISOString(),
  }));
  return { rows, isCut: found.isCut };
}

/** Adds what answers of earlier versions lack. */
const withStatus = (answer: ReplyAnswer): ReplyAnswer => ({
  ...answer,
  status: answer.status ?? null,
  status_at: answer.status_at ?? null,
});
