// Lists the leads of a workspace, newest first, by filter and search. Keyset pages: a lead created meanwhile
// never moves another one to a different page.
import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { decodeCursor, isBelow, page } from "../../lib/database/cursor.ts";
import { knownId } from "../../lib/ids.ts";
import { searches } from "../../lib/database/searches.ts";
import type { App } from "../../engine/app.ts";
import {
  describeLeads,
  leadResponseOf,
  partOf,
  selectLeads,
  type LeadRecord,
} from "./lead-record.ts";
import type { LeadResponse } from "./lead-schema.ts";
import { phonePrefixRange } from "./phone-prefix.ts";

/** The filters of a list or an export of leads; all that are given must match. */
export type LeadFilter = {
  readonly statusId?: number;
  readonly sourceId?: number;
  readonly priorityId?: number;
  readonly assignedAgentId?: number;
  readonly contactId?: number;
  /** Ten digits. */
  readonly phone?: string;
  /** Inclusive. */
  readonly createdFrom?: Date;
  /** Exclusive. */
  readonly createdTo?: Date;
  /** Digits match the start of the phone; other text matches a part of name or email, ignoring case. */
  readonly q?: string;
};

/** Returns a page of leads; 422 on an invalid cursor. */
export async function listLeads(
  app: App,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: LeadResponse[]; nextCursor: string | null }> {
  const before = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const found = await leadsBefore(app.db.query, accountId, workspaceId, filter, {
    id: before,
    limit: at.limit + 1,
  });
  const { rows, next } = page(found, at.limit);
  return { data: rows.map(leadResponseOf), nextCursor: next };
}

const order = { table: "leads", alias: "l", time: "created_at" } as const;

/** Returns the newest matching leads below the lead with an ID (null: of all). */
export async function leadsBefore(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  before: { id: number | null; limit: number },
): Promise<LeadRecord[]> {
  let query = selectLeads(db, accountId, workspaceId);
  if (before.id !== null) query = query.where(isBelow(order, accountId, before.id));
  const ids = [
    ["l.status_id", filter.statusId],
    ["l.source_id", filter.sourceId],
    ["l.priority_id", filter.priorityId],
    ["l.assigned_agent_id", filter.assignedAgentId],
    ["l.contact_id", filter.contactId],
  ] as const;
  for (const [column, id] of ids) {
    if (id !== undefined) query = query.where(column, "=", knownId(id));
  }
  if (filter.phone !== undefined) query = query.where("l.phone", "=", filter.phone);
  if (filter.createdFrom) query = query.where("l.created_at", ">=", filter.createdFrom);
  if (filter.createdTo) query = query.where("l.created_at", "<", filter.createdTo);
  const q = filter.q?.trim() ?? "";
  if (/^[0-9]+$/.test(q)) {
    const range = phonePrefixRange(q);
    if (!range) return [];
    query = query.where("l.phone", ">=", range.from).where("l.phone", "<=", range.to);
  } else if (q !== "") {
    query = query.where((eb) =>
      eb.or([eb("l.name", "ilike", partOf(q)), eb("l.email", "ilike", partOf(q))]),
    );
  }
  const first = query.orderBy("l.created_at", "desc").orderBy("l.id", "desc").limit(before.limit);
  const found = describeLeads(db, accountId, first)
    .orderBy("l.created_at", "desc")
    .orderBy("l.id", "desc");
  return searches.use(accountId, () => found.execute());
}
