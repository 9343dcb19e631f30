// Removes a user from a lead's collaborators. Idempotent.
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { listCollaborators } from "./list-collaborators.ts";
import type { LeadResponse } from "./lead-schema.ts";
import { lockLead, type LeadPlace } from "./internal/lock-lead.ts";
import { addTimelineEntry, recordLeadUpdate } from "./internal/record-lead-change.ts";

/** Returns the lead's collaborators afterwards. Throws not-found (workspace, lead, or user of the account). */
export async function removeCollaborator(
  tx: Tx,
  place: LeadPlace,
  change: { userId: number; by: number },
  now: Date,
): Promise<{ data: LeadResponse["collaborators"] }> {
  await lockLead(tx, place);
  const user = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", place.account_id)
    .where("id", "=", change.userId)
    .executeTakeFirst();
  if (!user) throw notFound();
  const removed = await tx
    .deleteFrom("lead_collaborators")
    .where("account_id", "=", place.account_id)
    .where("lead_id", "=", place.lead_id)
    .where("user_id", "=", change.userId)
    .returning("user_id")
    .executeTakeFirst();
  if (!removed) return listCollaborators(tx, place);
  const data = { userId: change.userId };
  await addTimelineEntry(tx, place, {
    kind: "collaborator_removed",
    at: now,
    user_id: change.by,
    data,
  });
  const lead = await recordLeadUpdate(tx, place, ["collaborators"], now);
  return { data: lead.collaborators };
}
