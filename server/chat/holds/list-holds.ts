// Lists the holds of an account.
import { sql, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { holdResponseOf, type HoldResponse, type HoldRow, type HoldScope } from "./holds.ts";

/** Returns a page of the account's holds, optionally of one scope or subject; 422 for an invalid cursor. */
export async function listHolds(
  db: Kysely<DB>,
  accountId: number,
  filter: { readonly scope?: HoldScope; readonly subject_id?: number },
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: HoldResponse[]; next_cursor: string | null }> {
  let query = db
    .selectFrom("chat_holds")
    .select(["scope", "subject_id", "reason", "detail", "set_at", "ends_at"])
    .where("account_id", "=", accountId);
  if (filter.scope !== undefined) query = query.where("scope", "=", filter.scope);
  if (filter.subject_id !== undefined) query = query.where("subject_id", "=", filter.subject_id);
  if (cursor !== undefined) {
    const [scope, subjectId, reason] = decodeCursor(cursor);
    query = query.where(
      sql<boolean>`(scope, subject_id, reason) > (${scope}, ${subjectId}::bigint, ${reason})`,
    );
  }
  const rows = (await query
    .orderBy("scope")
    .orderBy("subject_id")
    .orderBy("reason")
    .limit(limit + 1)
    .execute()) as HoldRow[];
  const data = rows.slice(0, limit).map(holdResponseOf);
  const more = rows.length > limit;
  return { data, next_cursor: more ? encodeCursor(data.at(-1)!) : null };
}

function encodeCursor({ scope, subject_id, reason }: HoldResponse): string {
  return Buffer.from(`${scope} ${subject_id} ${reason}`).toString("base64url");
}

function decodeCursor(cursor: string): [string, number, string] {
  const text = Buffer.from(cursor, "base64url").toString();
  const [, scope, subjectId, reason] = /^([a-z]+) (\d{1,15}) ([a-z_]+)$/.exec(text) ?? [];
  if (!scope || !subjectId || !reason) {
    throw invalidField("cursor", "is not a cursor of this list");
  }
  return [scope, Number(subjectId), reason];
}
