import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { TokenResponse } from "./token-schema.ts";

/** Lists the account's tokens by ID, without sessions, including expired and revoked ones, without secrets. */
export async function listTokens(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: TokenResponse[]; next_cursor: string | null }> {
  let query = tokenRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const { rows, next } = page(
    await query
      .orderBy("id")
      .limit(limit + 1)
      .execute(),
    limit,
  );
  return { data: rows.map(tokenResponse), next_cursor: next };
}

/** Returns a token of the account, or throws not-found. */
export async function findToken(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<TokenResponse> {
  const row = await tokenRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return tokenResponse(row);
}

function tokenRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("tokens")
    .select([
      "id",
      "kind",
      "user_id",
      "name",
      "scopes",
      "expires_at",
      "allowed_addresses",
      "revoked_at",
      "last_used_at",
      "created_by",
      "created_at",
    ])
    .where("account_id", "=", accountId)
    .where("kind", "!=", "session");
}

type Row = {
  id: number;
  kind: string;
  user_id: number;
  name: string;
  scopes: string[] | null;
  expires_at: Date | null;
  allowed_addresses: string[] | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_by: number;
  created_at: Date;
};

function tokenResponse(row: Row): TokenResponse {
  return {
    ...row,
    kind: row.kind as TokenResponse["kind"],
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}
