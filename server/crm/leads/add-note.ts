import type { Tx } from "../../lib/database/database.ts";
import type { TimelineEntry } from "./list-timeline.ts";
import { lockLead, type LeadPlace } from "./internal/lock-lead.ts";
import { addTimelineEntry } from "./internal/record-lead-change.ts";

/** Adds a note to a lead's timeline; throws not-found if the lead does not exist. */
export async function addNote(
  tx: Tx,
  place: LeadPlace,
  note: { user_id: number; text: string },
  now: Date,
): Promise<TimelineEntry> {
  await lockLead(tx, place);
  const entry = { kind: "note", at: now, user_id: note.user_id, data: { text: note.text } };
  const id = await addTimelineEntry(tx, place, entry);
  return { id, kind: "note", at: now.toISOString(), userId: note.user_id, data: entry.data };
}
