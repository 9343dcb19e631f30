// The contacts of a workspace, newest first.
import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import { decodeCursor, endOfSearch, findCandidates, page } from "../../lib/database/cursor.ts";
import { searches } from "../../lib/database/searches.ts";
import { contactColumns, contactResponseOf, type ContactResponse } from "./contact-schema.ts";
import { partOf } from "../leads/lead-record.ts";
import { phonePrefixRange } from "../leads/phone-prefix.ts";

export type ContactFilter = {
  /** Ten digits. */
  readonly phone?: string;
  /** Digits match the start of the phone; other text matches a part of name or email, ignoring case. */
  readonly q?: string;
};

/** Returns a page of contacts; 422 on an invalid cursor. */
export async function listContacts(
  app: App,
  accountId: number,
  workspaceId: number,
  filter: ContactFilter,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: ContactResponse[]; nextCursor: string | null }> {
  const contacts = app.db.query
    .selectFrom("contacts")
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId);
  const all =
    at.cursor === undefined ? contacts : contacts.where("id", "<", decodeCursor(at.cursor));
  let query = all.select(contactColumns(accountId)).orderBy("id", "desc");
  let end: number | null = null;
  if (filter.phone !== undefined) query = query.where("phone", "=", filter.phone);
  const q = filter.q?.trim() ?? "";
  if (/^[0-9]+$/.test(q)) {
    const range = phonePrefixRange(q);
    if (!range) return { data: [], nextCursor: null };
    const { from, to } = range;
    query = query.where("phone", ">=", from).where("phone", "<=", to);
    // Few numbers are found by their index; of many, some are among the newest contacts.
    const by_phone = contacts.where("phone", ">=", from).where("phone", "<=", to);
    const few = await findCandidates(by_phone.select("id").orderBy("phone"));
    if (few.end === null) query = query.where(sql<boolean>`id = any(${few.ids}::bigint[])`);
    else end = await endOfSearch(all.select("id").orderBy("id", "desc"));
  } else if (q !== "") {
    if (filter.phone === undefined) end = await endOfSearch(all.select("id").orderBy("id", "desc"));
    query = query.where((eb) =>
      eb.or([eb("name", "ilike", partOf(q)), eb("email", "ilike", partOf(q))]),
    );
  }
  if (end !== null) query = query.where("id", ">=", end);
  const found = await searches.use(accountId, () => query.limit(at.limit + 1).execute());
  const { rows, next } = page(found, at.limit, end);
  return { data: rows.map(contactResponseOf), nextCursor: next };
}
