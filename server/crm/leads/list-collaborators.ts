import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { LeadResponse } from "./lead-schema.ts";
import { findLead } from "./find-lead.ts";
import type { LeadPlace } from "./internal/lock-lead.ts";

/** Lists the collaborators of a lead; throws not-found if the lead does not exist. */
export async function listCollaborators(
  db: Kysely<DB>,
  place: LeadPlace,
): Promise<{ data: LeadResponse["collaborators"] }> {
  const lead = await findLead(db, place.account_id, place.workspace_id, place.lead_id);
  return { data: lead.collaborators };
}
