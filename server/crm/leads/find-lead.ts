import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { leadAnswerOf, selectLeads } from "./lead-record.ts";
import type { LeadAnswer } from "./lead-schema.ts";

/** One lead of the workspace; not-found when it is missing, elsewhere or another account's. */
export async function findLead(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  leadId: number,
): Promise<LeadAnswer> {
  const row = await selectLeads(db, accountId, workspaceId)
    .where("l.id", "=", leadId)
    .executeTakeFirst();
  if (!row) throw notFound();
  return leadAnswerOf(row);
}

/** Refuses as not-found what findLead would not find. */
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
