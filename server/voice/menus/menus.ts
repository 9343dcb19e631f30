import type { Kysely } from "kysely";
import { decodeCursor, page, readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { MenuResponse, MenuGraph } from "./menu-schema.ts";

/** Lists the account's menus by id. Refuses: validation-failed on a cursor of another list. */
export async function listMenus(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: MenuResponse[]; next_cursor: string | null }> {
  let query = db.selectFrom("voice_menus").selectAll().where("account_id", "=", accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await readBounded(db, query.orderBy("id").limit(limit + 1), {
    large: ["graph"],
    order: "id",
  });
  const { rows, next } = page(found, limit);
  return { data: rows.map(menuResponse), next_cursor: next };
}

/** Returns one menu of the account. Refuses: not-found. */
export async function readMenu(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<MenuResponse> {
  const row = await db
    .selectFrom("voice_menus")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound();
  return menuResponse(row);
}

/** Converts a row to its API representation. */
export function menuResponse(row: {
  id: number;
  name: string;
  graph: unknown;
  created_at: Date;
  updated_at: Date;
}): MenuResponse {
  const { start, nodes } = row.graph as MenuGraph;
  return {
    id: row.id,
    name: row.name,
    start,
    nodes,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
