import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { ExtensionResponse } from "./extension-schema.ts";

/** Returns a page of the account's extensions, by ID. */
export async function listExtensions(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: ExtensionResponse[]; next_cursor: string | null }> {
  let query = extensionRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(extensionResponse), next_cursor: next };
}

/** Returns an extension of the account. Refuses: not-found. */
export async function readExtension(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<ExtensionResponse> {
  const row = await extensionRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return extensionResponse(row);
}

function extensionRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("extensions")
    .select(["id", "extension", "name", "user_id", "endpoint", "digit", "created_at", "updated_at"])
    .where("account_id", "=", accountId);
}

type Row = Omit<ExtensionResponse, "created_at" | "updated_at"> & {
  created_at: Date;
  updated_at: Date;
};

function extensionResponse(row: Row): ExtensionResponse {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
