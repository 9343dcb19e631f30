import { sql, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { describeLeads, leadResponseOf, selectLeads } from "./lead-record.ts";
import type { LeadResponse } from "./lead-schema.ts";

/** Returns a lead of the workspace; throws not-found if it is missing, elsewhere or another account's. */
export async function findLead(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  leadId: number,
): Promise<LeadResponse> {
  const lead = selectLeads(db, accountId, workspaceId).where("l.id", "=", leadId).limit(sql.lit(1));
  const row = await describeLeads(db, accountId, lead).executeTakeFirst();
  if (!row) throw notFound();
  return leadResponseOf(row);
}

/** Returns the custom fields of a lead of the workspace; none where findLead would throw not-found. */
export async function findCustomValues(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  leadId: number,
): Promise<Readonly<Record<string, unknown>>> {
  const row = await db
    .selectFrom("leads")
    .select("custom_fields")
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", leadId)
    .executeTakeFirst();
  return (row?.custom_fields ?? {}) as Readonly<Record<string, unknown>>;
}

/** Throws not-found where findLead would. */
export async function requireLead(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  leadId: number,
): Promise<void> {
  const row = await db
    .selectFrom("leads")
    .select("id")
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", leadId)
    .executeTakeFirst();
  if (!row) throw notFound();
}
