import { sql, type Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { UserResponse } from "./user-schema.ts";

/** Lists the account's users by ID, including inactive ones. */
export async function listUsers(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: UserResponse[]; next_cursor: string | null }> {
  let query = userRows(db, accountId);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const { rows, next } = page(
    await query
      .orderBy("id")
      .limit(limit + 1)
      .execute(),
    limit,
  );
  return { data: rows.map(userResponse), next_cursor: next };
}

/** Returns a user of the account, or throws not-found. */
export async function findUser(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<UserResponse> {
  const row = await userRows(db, accountId).where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound();
  return userResponse(row);
}

/** The columns that userResponse needs beside those of userFactors. */
export const user_columns = [
  "id",
  "name",
  "email",
  "phone",
  "extension",
  "role_id",
  "is_owner",
  "active",
  "created_at",
  "updated_at",
] as const;

function userRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("users")
    .select(user_columns)
    .select(userFactors(accountId))
    .where("account_id", "=", accountId);
}

/** Whether a user of the account has confirmed an authenticator app, and how many passkeys there are. */
export const userFactors = (accountId: number) => [
  sql<boolean>`exists (
    select from user_totp t
    where t.account_id = ${accountId} and t.user_id = users.id and t.confirmed_at is not null)`.as(
    "has_totp",
  ),
  sql<number>`(
    select count(*)::int from user_passkeys k
    where k.account_id = ${accountId} and k.user_id = users.id)`.as("passkeys"),
];

type Row = Omit<UserResponse, "created_at" | "updated_at"> & { created_at: Date; updated_at: Date };

/** Returns a user as the API shows it. */
export function userResponse(row: Row): UserResponse {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
