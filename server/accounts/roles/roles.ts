import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { RoleResponse } from "./role-schema.ts";

/** Lists the account's roles by ID. */
export async function listRoles(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: RoleResponse[]; next_cursor: string | null }> {
  let query = roleRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const { rows, next } = page(
    await query
      .orderBy("id")
      .limit(limit + 1)
      .execute(),
    limit,
  );
  return { data: rows.map(roleResponse), next_cursor: next };
}

/** Returns a role of the account, or throws not-found. */
export async function findRole(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<RoleResponse> {
  const row = await roleRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return roleResponse(row);
}

/** The columns that roleResponse needs. */
export const role_columns = ["id", "name", "permissions", "created_at", "updated_at"] as const;

function roleRows(db: Kysely<DB>, accountId: number) {
  return db.selectFrom("roles").select(role_columns).where("account_id", "=", accountId);
}

/** Returns a role as the API shows it. */
export function roleResponse(row: {
  id: number;
  name: string;
  permissions: string[];
  created_at: Date;
  updated_at: Date;
}): RoleResponse {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
