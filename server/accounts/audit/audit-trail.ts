// The audit trail, newest first.
import type { Kysely } from "kysely";
import Type, { type Static } from "typebox";
import { audit_actions } from "./audit-actions.ts";
import { decodeCursor, isBelow, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { id, mapOf, nullable, timestamp } from "../../lib/schemas.ts";
import { searches } from "../../lib/database/searches.ts";

export const AuditEntry = Type.Object(
  {
    id: id("Entry id"),
    at: timestamp("UTC"),
    user_id: nullable(id("Null: an operator at the command line")),
    token_id: nullable(id("The token of the request")),
    request_id: Type.String(),
    address: nullable(Type.String({ description: "The IP address that the request came from" })),
    user_agent: nullable(Type.String({ description: "The request's User-Agent, shortened" })),
    action: Type.String({
      description: "The change, such as token.revoked",
      "x-extensible-enum": audit_actions,
    }),
    subject_id: nullable(Type.String({ description: "ID of the changed resource" })),
    detail: mapOf(Type.Unknown()),
  },
  { title: "AuditEntry" },
);
export type AuditEntry = Static<typeof AuditEntry>;

/** Filters of the audit trail; `from` is inclusive, `to` exclusive. */
export type AuditFilter = {
  readonly action?: string | undefined;
  readonly user_id?: number | undefined;
  readonly subject_id?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

const order = { table: "audit_entries", alias: "audit_entries", time: "at" } as const;

/** Lists the account's entries that match the filter, newest first. */
export async function listAudit(
  db: Kysely<DB>,
  accountId: number,
  filter: AuditFilter,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: AuditEntry[]; next_cursor: string | null }> {
  let query = db
    .selectFrom("audit_entries")
    .select(["id", "at", "user_id", "token_id", "request_id", "address", "user_agent"])
    .select(["action", "subject_id", "detail"])
    .where("account_id", "=", accountId);
  if (filter.action !== undefined) query = query.where("action", "=", filter.action);
  if (filter.user_id !== undefined) query = query.where("user_id", "=", filter.user_id);
  if (filter.subject_id !== undefined) query = query.where("subject_id", "=", filter.subject_id);
  if (filter.from) query = query.where("at", ">=", filter.from);
  if (filter.to) query = query.where("at", "<", filter.to);
  if (cursor !== undefined) query = query.where(isBelow(order, accountId, decodeCursor(cursor)));
  query = query
    .orderBy("at", "desc")
    .orderBy("id", "desc")
    .limit(limit + 1);
  const { rows, next } = page(await searches.use(accountId, () => query.execute()), limit);
  const data = rows.map((row) => ({
    ...row,
    at: row.at.toISOString(),
    detail: row.detail as Record<string, unknown>,
  }));
  return { data, next_cursor: next };
}
