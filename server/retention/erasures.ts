// The erasures of an account.
import type { Kysely, Selectable } from "kysely";
import { decodeCursor, page } from "../lib/database/cursor.ts";
import type { DB } from "../lib/database/database.ts";
import { notFound } from "../lib/errors.ts";
import type { Progress } from "./erase/part.ts";
import { erased_kinds, type ErasedKind, type ErasureResponse } from "./erasure-schema.ts";

export type ErasureRow = Selectable<DB["erasures"]>;

/** Returns a page of erasures, newest first. Throws 422 on an invalid cursor. */
export async function listErasures(
  db: Kysely<DB>,
  accountId: number,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: ErasureResponse[]; next_cursor: string | null }> {
  let query = db.selectFrom("erasures").selectAll().where("account_id", "=", accountId);
  if (at.cursor !== undefined) query = query.where("id", "<", decodeCursor(at.cursor));
  const found = await query
    .orderBy("id", "desc")
    .limit(at.limit + 1)
    .execute();
  const { rows, next } = page(found, at.limit);
  return { data: rows.map(erasureResponse), next_cursor: next };
}

/** Returns one erasure. Refuses: not-found. */
export async function findErasure(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<ErasureResponse> {
  const row = await db
    .selectFrom("erasures")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  return erasureResponse(row);
}

/** Converts a row to API form, with the number masked. */
export function erasureResponse(row: ErasureRow): ErasureResponse {
  const counts = row.counts as Partial<Record<ErasedKind, number>>;
  const progress = row.progress as Progress | null;
  return {
    id: row.id,
    phone_number: row.phone_shown,
    state: row.state as ErasureResponse["state"],
    waiting_for: progress?.waiting_for ?? null,
    counts: Object.fromEntries(
      erased_kinds.map((kind) => [kind, counts[kind] ?? 0]),
    ) as ErasureResponse["counts"],
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
