// Locks a lead for a change: first the workspace, as create_leads does, then the lead.
import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/** The path of a lead in an authorized request. */
export type LeadPlace = {
  readonly account_id: number;
  readonly workspace_id: number;
  readonly lead_id: number;
};

/**
 * Returns the lead's row, locked. The workspace is locked FOR KEY SHARE: no option is deleted before the
 * commit, and options deleted earlier are no longer in the schema that is read from here on. Throws
 * not-found for a missing or inactive workspace and a missing lead.
 */
export async function lockLead(tx: Tx, place: LeadPlace) {
  await lockWorkspace(tx, place.account_id, place.workspace_id);
  const lead = await tx
    .selectFrom("leads")
    .selectAll()
    .where("account_id", "=", place.account_id)
    .where("workspace_id", "=", place.workspace_id)
    .where("id", "=", place.lead_id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!lead) throw notFound();
  return lead;
}

/** Locks the workspace as lockLead does; throws not-found if it is missing or inactive. */
export async function lockWorkspace(tx: Tx, accountId: number, workspaceId: number): Promise<void> {
  const workspace = await tx
    .selectFrom("workspaces")
    .select("active")
    .where("account_id", "=", accountId)
    .where("id", "=", workspaceId)
    .modifyEnd(sql`for key share`)
    .executeTakeFirst();
  if (!workspace?.active) throw notFound();
}
