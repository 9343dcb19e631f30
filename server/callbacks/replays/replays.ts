// The replays of an account.
import type { Kysely, Selectable } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { ReplayResponse } from "./replay-schema.ts";

/** Returns the replays to the account's endpoints, or to one of them, newest first. */
export async function listReplays(
  db: Kysely<DB>,
  accountId: number,
  filter: { endpoint_id?: number },
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ data: ReplayResponse[]; next_cursor: string | null }> {
  let query = replayRows(db, accountId);
  if (filter.endpoint_id !== undefined)
    query = query.where("r.endpoint_id", "=", knownId(filter.endpoint_id));
  if (cursor !== undefined) query = query.where("r.id", "<", decodeCursor(cursor));
  const found = await query
    .orderBy("r.id", "desc")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(replayResponse), next_cursor: next };
}

/** Returns one replay. Refuses: not-found. */
export async function findReplay(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<ReplayResponse> {
  const row = await replayRows(db, accountId).where("r.id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return replayResponse(row);
}

/** Excludes the replays of deleted endpoints. */
function replayRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("callback_replays as r")
    .innerJoin("callback_endpoints as c", (join) =>
      join.onRef("c.account_id", "=", "r.account_id").onRef("c.id", "=", "r.endpoint_id"),
    )
    .selectAll("r")
    .where("r.account_id", "=", accountId)
    .where("c.deleted_at", "is", null);
}

/** Converts a row to API form. */
export function replayResponse(row: Selectable<DB["callback_replays"]>): ReplayResponse {
  const state = row.state as ReplayResponse["state"];
  return {
    id: row.id,
    endpoint_id: row.endpoint_id,
    from: row.from_at.toISOString(),
    to: row.to_at.toISOString(),
    include: row.include as ReplayResponse["include"],
    state,
    reached: (state === "completed" ? row.to_at : row.reached_at).toISOString(),
    events_count: row.events_count,
    deliveries_count: row.deliveries_count,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
