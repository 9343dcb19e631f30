import type { Kysely, Selectable } from "kysely";
import { decodeCursor, endOfSearch, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { EndpointResponse, EndpointKind } from "./endpoint-schema.ts";

/** The columns that the API shows, without secrets. */
export const endpoint_columns = [
  "id",
  "kind",
  "url",
  "description",
  "types",
  "enabled",
  "disabled_reason",
  "disabled_at",
  "failing_since",
  "resume_at",
  "created_at",
  "updated_at",
] as const satisfies readonly (keyof DB["callback_endpoints"])[];

/** Returns the account's callback endpoints, by id, without their secrets. */
export async function listEndpoints(
  db: Kysely<DB>,
  accountId: number,
  filter: { kind?: EndpointKind; url?: string; enabled?: boolean },
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ data: EndpointResponse[]; next_cursor: string | null }> {
  const after = cursor === undefined ? 0 : decodeCursor(cursor);
  const end = await endOfSearch(
    db
      .selectFrom("callback_endpoints")
      .select("id")
      .where("account_id", "=", accountId)
      .where("id", ">", after)
      .orderBy("id"),
  );
  let query = endpointRows(db, accountId).where("id", ">", after);
  if (end !== null) query = query.where("id", "<=", end);
  if (filter.kind !== undefined) query = query.where("kind", "=", filter.kind);
  if (filter.url !== undefined) query = query.where("url", "=", filter.url);
  if (filter.enabled !== undefined) query = query.where("enabled", "=", filter.enabled);
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit, end);
  return { data: rows.map(endpointResponse), next_cursor: next };
}

/** Returns one endpoint of the account. Refuses: not-found. */
export async function readEndpoint(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<EndpointResponse> {
  const row = await endpointRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return endpointResponse(row);
}

function endpointRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("callback_endpoints")
    .select(endpoint_columns)
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null);
}

type Row = Pick<Selectable<DB["callback_endpoints"]>, (typeof endpoint_columns)[number]>;

/** Converts a row to API form. */
export function endpointResponse(row: Row): EndpointResponse {
  return {
    ...row,
    kind: row.kind as EndpointKind,
    disabled_reason: row.disabled_reason as EndpointResponse["disabled_reason"],
    disabled_at: row.disabled_at?.toISOString() ?? null,
    failing_since: row.failing_since?.toISOString() ?? null,
    resume_at: row.resume_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
