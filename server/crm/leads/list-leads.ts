// Lists the leads of a workspace, newest first, by filter and search. Keyset pages: a lead created meanwhile
// never moves another one to a different page.
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import {
  decodeCursor,
  findCandidates,
  isBelow,
  page,
  readBounded,
  type BoundedRows,
  type Candidates,
  type SearchedPart,
} from "../../lib/database/cursor.ts";
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
  readonly statusId?: number | undefined;
  readonly sourceId?: number | undefined;
  readonly priorityId?: number | undefined;
  readonly assignedAgentId?: number | undefined;
  readonly contactId?: number | undefined;
  /** Ten digits. */
  readonly phone?: string | undefined;
  /** Inclusive. */
  readonly createdFrom?: Date | undefined;
  /** Exclusive. */
  readonly createdTo?: Date | undefined;
  /** Digits match the start of the phone; other text matches a part of name or email, ignoring case. */
  readonly q?: string | undefined;
};

/** Returns a page of leads; 422 on an invalid cursor. */
export async function listLeads(
  app: App,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: LeadResponse[]; nextCursor: string | null }> {
  const id = at.cursor === undefined ? null : decodeCursor(at.cursor);
  const from = { id, limit: at.limit + 1 };
  const found = await searchLeads(app.db.query, accountId, workspaceId, filter, from);
  const { rows, next } = page(found, at.limit, found.end);
  return { data: rows.map(leadResponseOf), nextCursor: next };
}

/** Returns the newest matching leads below the lead with an ID (null: of all), of those that a page searches. */
export async function searchLeads(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  before: { readonly id: number | null; readonly limit: number },
): Promise<SearchedPart<LeadRecord>> {
  const search = await candidatesOf(db, accountId, workspaceId, filter, before.id);
  if (search?.ids.length === 0) return { rows: [], isCut: false, end: search.end };
  const among = { ...before, ids: search?.ids };
  const found = await leadsBefore(db, accountId, workspaceId, filter, among);
  return { ...found, end: search?.end ?? null };
}

const order = { table: "leads", alias: "l", time: "created_at" } as const;

/**
 * Returns the matching leads among those that a page searches, or null if an index has all filters in the order of the
 * list, as it has agent and status. A contact and a number have an index in another order: few leads are found by it; of
 * many, some are among the newest.
 */
async function candidatesOf(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  before: number | null,
): Promise<Candidates | null> {
  const { statusId, assignedAgentId, createdFrom, createdTo, contactId, phone, q = "" } = filter;
  const indexed = assignedAgentId === undefined ? { statusId } : { assignedAgentId };
  const inOrder: LeadFilter = { ...indexed, createdFrom, createdTo };
  const names = Object.keys(filter) as (keyof LeadFilter)[];
  if (names.every((name) => filter[name] === inOrder[name])) return null;
  const ids = (by: LeadFilter) =>
    db
      .selectFrom("leads as l")
      .select(["l.id", matches(filter).as("is_match")])
      .where("l.account_id", "=", accountId)
      .where("l.workspace_id", "=", workspaceId)
      .where(matches(by));
  const find = (leads: ReturnType<typeof ids>) =>
    searches.use(accountId, () => findCandidates(leads));
  const byIndex = [
    contactId !== undefined && ids({ contactId }).orderBy("l.contact_id"),
    phone !== undefined && ids({ phone }).orderBy("l.phone"),
    /^[0-9]+$/.test(q.trim()) && ids({ q }).orderBy("l.phone"),
  ];
  for (const leads of byIndex) {
    const few = leads && (await find(leads.orderBy("l.id")));
    if (few && few.end === null) return few;
  }
  let all = ids(inOrder).orderBy("l.created_at", "desc").orderBy("l.id", "desc");
  if (before !== null) all = all.where(isBelow(order, accountId, before));
  return find(all);
}

/** Returns the newest matching leads below the lead with an ID (null: of all), of those with `ids` if given. */
async function leadsBefore(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  filter: LeadFilter,
  before: { id: number | null; ids?: readonly number[] | undefined; limit: number },
): Promise<BoundedRows<LeadRecord>> {
  let query = selectLeads(db, accountId, workspaceId, before.ids).where(matches(filter));
  if (before.id !== null) query = query.where(isBelow(order, accountId, before.id));
  const first = query.orderBy("l.created_at", "desc").orderBy("l.id", "desc").limit(before.limit);
  const found = describeLeads(db, accountId, first);
  return searches.use(accountId, () =>
    readBounded(db, found, {
      large: ["custom_fields", "collaborators"],
      order: "created_at desc, id desc",
    }),
  );
}

/** Returns the condition of the leads `l` that match. */
function matches(filter: LeadFilter): RawBuilder<boolean> {
  const all: RawBuilder<unknown>[] = [sql`true`];
  const ids = [
    ["l.status_id", filter.statusId],
    ["l.source_id", filter.sourceId],
    ["l.priority_id", filter.priorityId],
    ["l.assigned_agent_id", filter.assignedAgentId],
    ["l.contact_id", filter.contactId],
  ] as const;
  for (const [column, id] of ids) {
    if (id !== undefined) all.push(sql`${sql.ref(column)} = ${knownId(id)}`);
  }
  if (filter.phone !== undefined) all.push(sql`l.phone = ${filter.phone}`);
  if (filter.createdFrom) all.push(sql`l.created_at >= ${filter.createdFrom}`);
  if (filter.createdTo) all.push(sql`l.created_at < ${filter.createdTo}`);
  const q = filter.q?.trim() ?? "";
  if (/^[0-9]+$/.test(q)) {
    const range = phonePrefixRange(q);
    all.push(range ? sql`l.phone >= ${range.from} and l.phone <= ${range.to}` : sql`false`);
  } else if (q !== "") {
    all.push(sql`(l.name ilike ${partOf(q)} or l.email ilike ${partOf(q)})`);
  }
  return sql<boolean>`${sql.join(all, sql` and `)}`;
}
