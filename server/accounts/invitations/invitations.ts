import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import type { InvitationResponse } from "./invitation-schema.ts";

/** Lists the invitations that were neither accepted nor revoked, by ID, including expired ones. */
export async function listInvitations(
  db: Kysely<DB>,
  account_id: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: InvitationResponse[]; next_cursor: string | null }> {
  let query = db
    .selectFrom("invitations")
    .select(invitation_columns)
    .where("account_id", "=", account_id);
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const found = await query
    .orderBy("id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(found, limit);
  return { data: rows.map(invitationResponse), next_cursor: next };
}

/** The columns that invitationResponse needs. */
export const invitation_columns = [
  "id",
  "email",
  "role_id",
  "invited_by",
  "created_at",
  "expires_at",
] as const;

type Row = Omit<InvitationResponse, "created_at" | "expires_at"> & {
  created_at: Date;
  expires_at: Date;
};

/** Returns an invitation as the API shows it. */
export function invitationResponse(row: Row): InvitationResponse {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
}
