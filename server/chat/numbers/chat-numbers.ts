import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import {
  chatNumberResponse,
  number_columns,
  type ChatNumberResponse,
} from "./chat-number-schema.ts";
import { holdsOf, type HoldResponse } from "../holds/holds.ts";

/** Returns a page of the account's numbers, ordered by ID. */
export async function listChatNumbers(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: ChatNumberResponse[]; next_cursor: string | null }> {
  let query = numberRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  const holds = await holdsOnNumbers(
    db,
    accountId,
    rows.map(({ id }) => id),
  );
  return { data: rows.map((row) => chatNumberResponse(row, holds)), next_cursor: next };
}

/** Returns one number of the account. Errors: not-found. */
export async function findChatNumber(
  db: Kysely<DB>,
  accountId: number,
  numberId: number,
): Promise<ChatNumberResponse> {
  const row = await numberRows(db, accountId).where("id", "=", numberId).executeTakeFirst();
  if (!row) throw notFound();
  return chatNumberResponse(row, await holdsOnNumbers(db, accountId, [numberId]));
}

function numberRows(db: Kysely<DB>, accountId: number) {
  return db.selectFrom("chat_numbers").select(number_columns).where("account_id", "=", accountId);
}

function holdsOnNumbers(
  db: Kysely<DB>,
  accountId: number,
  numberIds: readonly number[],
): Promise<HoldResponse[]> {
  const numbers = numberIds.map((subject_id) => ({ scope: "number", subject_id }) as const);
  return holdsOf(db, accountId, [...numbers, { scope: "account", subject_id: 0 }]);
}

/** Returns the drivers of the account's active numbers, each once. */
export async function chatDriversOf(db: Kysely<DB>, accountId: number): Promise<string[]> {
  const rows = await db
    .selectFrom("chat_numbers")
    .select("driver")
    .distinct()
    .where("account_id", "=", accountId)
    .where("active", "=", true)
    .orderBy("driver")
    .execute();
  return rows.map(({ driver }) => driver);
}
