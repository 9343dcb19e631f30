// Adds a user to a lead's collaborators. Idempotent.
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { listCollaborators } from "./list-collaborators.ts";
import type { LeadResponse } from "./lead-schema.ts";
import { lockLead, type LeadPlace } from "./internal/lock-lead.ts";
import { addTimelineEntry, recordLeadUpdate } from "./internal/record-lead-change.ts";

export const collaborators_max = 50;

/**
 * Returns the lead's collaborators afterwards. Throws not-found (workspace, lead or active user), conflict
 * beyond 50 collaborators.
 */
export async function addCollaborator(
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
    .where("active", "=", true)
    .executeTakeFirst();
  if (!user) throw notFound();
  const added = await tx
    .insertInto("lead_collaborators")
    .values({
      account_id: place.account_id,
      lead_id: place.lead_id,
      user_id: change.userId,
      added_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("user_id")
    .executeTakeFirst();
  if (!added) return listCollaborators(tx, place);
  const data = { userId: change.userId };
  await addTimelineEntry(tx, place, {
    kind: "collaborator_added",
    at: now,
    user_id: change.by,
    data,
  });
  const lead = await recordLeadUpdate(tx, place, ["collaborators"], now);
  if (lead.collaborators.length > collaborators_max) {
    throw new Refusal("conflict", `A lead has at most ${collaborators_max} collaborators`);
  }
  return { data: lead.collaborators };
}
