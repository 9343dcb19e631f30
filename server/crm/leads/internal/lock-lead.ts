// What every change of a lead starts with: the workspace held as create_leads holds it, then the lead.
import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";
import { notFound } from "../../../lib/errors.ts";

/** Where a lead is, from the path of a request that was let in. */
export type LeadPlace = {
  readonly account_id: number;
  readonly workspace_id: number;
  readonly lead_id: number;
};

/**
 * The lead's row, locked. The workspace is held FOR KEY SHARE: an option cannot be deleted before
 * the commit, and one that was deleted before is no longer in the schema read from here on.
 * Refuses as not-found a missing or inactive workspace and a missing lead.
 */
export async function lockLead(tx: Tx, place: LeadPlace) {
  const workspace = await tx
    .selectFrom("workspaces")
    .select("active")
    .where("account_id", "=", place.account_id)
    .where("id", "=", place.workspace_id)
    .modifyEnd(sql`for key share`)
    .executeTakeFirst();
  if (!workspace?.active) throw notFound();
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
