// The contacts of a workspace, newest first.
import type { App } from "../../engine/app.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
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
  let query = app.db.query
    .selectFrom("contacts")
    .select(contactColumns(accountId))
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId);
  if (at.cursor !== undefined) query = query.where("id", "<", decodeCursor(at.cursor));
  if (filter.phone !== undefined) query = query.where("phone", "=", filter.phone);
  const q = filter.q?.trim() ?? "";
  if (/^[0-9]+$/.test(q)) {
    const range = phonePrefixRange(q);
    if (!range) return { data: [], nextCursor: null };
    query = query.where("phone", ">=", range.from).where("phone", "<=", range.to);
  } else if (q !== "") {
    query = query.where((eb) =>
      eb.or([eb("name", "ilike", partOf(q)), eb("email", "ilike", partOf(q))]),
    );
  }
  query = query.orderBy("id", "desc").limit(at.limit + 1);
  const found = await searches.use(accountId, () => query.execute());
  const { rows, next } = page(found, at.limit);
  return { data: rows.map(contactResponseOf), nextCursor: next };
}
