// What customers wrote to the account's numbers.
import type { Kysely } from "kysely";
import { decodeCursor, page } from "../lib/cursor.ts";
import type { DB } from "../lib/database.ts";
import { searches } from "../lib/searches.ts";
import type { ReplyAnswer } from "./reply-schema.ts";

/** What a list of replies is narrowed to; each is optional and all must hold. */
export type ReplyFilter = {
  /** E.164 digits without the plus. */
  readonly phone?: string | undefined;
  readonly campaign_id?: number | undefined;
  readonly opted_out?: boolean | undefined;
};

/** A page of replies, newest first; 422 on a cursor that is not of this list. */
export async function listReplies(
  db: Kysely<DB>,
  accountId: number,
  filter: ReplyFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ data: ReplyAnswer[]; next_cursor: string | null }> {
  let query = db
    .selectFrom("chat_replies")
    .select(["id", "chat_number_id", "phone as phone_number", "type", "text", "payload"])
    .select(["campaign_id", "recipient_id", "opted_out", "received_at"])
    .where("account_id", "=", accountId);
  if (filter.phone !== undefined) query = query.where("phone", "=", filter.phone);
  if (filter.campaign_id !== undefined) query = query.where("campaign_id", "=", filter.campaign_id);
  if (filter.opted_out !== undefined) query = query.where("opted_out", "=", filter.opted_out);
  if (cursor !== undefined) query = query.where("id", "<", decodeCursor(cursor));
  query = query.orderBy("id", "desc").limit(limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), limit);
  const data = rows.map((row) => ({ ...row, received_at: row.received_at.toISOString() }));
  return { data, next_cursor: next };
}
