// Records a lead's change twice: on its timeline, for people, and in the outbox, for machines.
import { recordEvent, type NewEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { findLead } from "../find-lead.ts";
import type { LeadResponse } from "../lead-schema.ts";
import type { LeadPlace } from "./lock-lead.ts";

/** Adds a timeline entry in the transaction of its change and returns its ID. */
export async function addTimelineEntry(
  tx: Tx,
  place: LeadPlace,
  entry: { kind: string; at: Date; user_id: number | null; data: unknown },
): Promise<number> {
  const { id } = await tx
    .insertInto("lead_timeline")
    .values({
      account_id: place.account_id,
      lead_id: place.lead_id,
      kind: entry.kind,
      at: entry.at,
      user_id: entry.user_id,
      data: JSON.stringify(entry.data),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Updates the lead's timestamp, records `lead.updated` with the changed fields and returns the current lead. */
export async function recordLeadUpdate(
  tx: Tx,
  place: LeadPlace,
  changed: readonly string[],
  now: Date,
): Promise<LeadResponse> {
  await tx
    .updateTable("leads")
    .set({ updated_at: now })
    .where("account_id", "=", place.account_id)
    .where("id", "=", place.lead_id)
    .execute();
  const lead = await findLead(tx, place.account_id, place.workspace_id, place.lead_id);
  await recordEvent(tx, leadUpdated(place.account_id, lead, changed, now));
  return lead;
}

/** Returns the event of a changed lead. */
export function leadUpdated(
  account_id: number,
  lead: LeadResponse,
  changed: readonly string[],
  occurred_at: Date,
): NewEvent<"lead.updated"> {
  return {
    account_id,
    type: "lead.updated",
    occurred_at,
    data: {
      id: lead.id,
      workspaceId: lead.workspaceId,
      contactId: lead.contactId,
      name: lead.name,
      email: lead.email,
      phone: lead.phone,
      assignedAgentId: lead.assignedAgentId,
      statusId: lead.statusId,
      sourceId: lead.sourceId,
      priorityId: lead.priorityId,
      customFields: lead.customFields,
      createdBy: lead.createdBy,
      collaborators: lead.collaborators.map((user) => user.id),
      changed: [...changed],
    },
  };
}
