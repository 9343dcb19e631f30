// Lists a lead's timeline, newest first.
import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { decodeCursor, page, readBounded } from "../../lib/database/cursor.ts";
import { id, mapOf, nullable, timestamp } from "../../lib/schemas.ts";
import { requireLead } from "./find-lead.ts";
import type { LeadPlace } from "./internal/lock-lead.ts";

/**
 * `data` of a note is {text}; of an update {changes: [{field, from?, to?}]}; of a collaborator {userId}; of
 * a call as record-call-outcome.ts records it, of a missed call as record-missed-call.ts does.
 */
export const TimelineEntry = Type.Object(
  {
    id: id("Entry id"),
    kind: Type.String({
      description:
        "created, updated, note, call, missed_call, collaborator_added or collaborator_removed",
    }),
    at: timestamp("UTC"),
    userId: nullable(id("The user who made the change; null if none did")),
    data: mapOf(Type.Unknown()),
  },
  { title: "LeadTimelineEntry" },
);
export type TimelineEntry = Static<typeof TimelineEntry>;

/** Returns a page of a lead's timeline; throws not-found if the lead does not exist. */
export async function listTimeline(
  app: App,
  place: LeadPlace,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: TimelineEntry[]; nextCursor: string | null }> {
  await requireLead(app.db.query, place.account_id, place.workspace_id, place.lead_id);
  let query = app.db.query
    .selectFrom("lead_timeline")
    .select(["id", "kind", "at", "user_id", "data"])
    .where("account_id", "=", place.account_id)
    .where("lead_id", "=", place.lead_id);
  if (at.cursor !== undefined) query = query.where("id", "<", decodeCursor(at.cursor));
  const found = await readBounded(app.db.query, query.orderBy("id", "desc").limit(at.limit + 1), {
    large: ["data"],
    order: "id desc",
  });
  const { rows, next } = page(found, at.limit);
  return {
    data: rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      at: row.at.toISOString(),
      userId: row.user_id,
      data: row.data as Record<string, unknown>,
    })),
    nextCursor: next,
  };
}
