// Lists the CSV imports of a workspace, including an inactive one: its imports show why they failed.
import type { App } from "../../engine/app.ts";
import { decodeCursor, page, readBounded } from "../../lib/database/cursor.ts";
import { notFound } from "../../lib/errors.ts";
import { leadImportAnswerOf, type LeadImportResponse } from "./lead-import-schema.ts";

/** The path of an import in an authorized request. */
export type ImportPlace = {
  readonly account_id: number;
  readonly workspace_id: number;
  readonly import_id: number;
};

/** Returns a page of imports, newest first; throws not-found if the workspace does not exist. */
export async function listLeadImports(
  app: App,
  accountId: number,
  workspaceId: number,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: LeadImportResponse[]; nextCursor: string | null }> {
  const workspace = await app.db.query
    .selectFrom("workspaces")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", workspaceId)
    .executeTakeFirst();
  if (!workspace) throw notFound();
  let query = app.db.query
    .selectFrom("lead_imports")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId);
  if (at.cursor !== undefined) query = query.where("id", "<", decodeCursor(at.cursor));
  const found = await readBounded(app.db.query, query.orderBy("id", "desc").limit(at.limit + 1), {
    large: ["header", "column_map"],
    order: "id desc",
  });
  const { rows, next } = page(found, at.limit);
  return { data: rows.map(leadImportAnswerOf), nextCursor: next };
}

/** Returns the import's row; throws not-found if it is missing, elsewhere or another account's. */
export async function findLeadImport(app: App, place: ImportPlace) {
  const row = await app.db.query
    .selectFrom("lead_imports")
    .selectAll()
    .where("account_id", "=", place.account_id)
    .where("workspace_id", "=", place.workspace_id)
    .where("id", "=", place.import_id)
    .executeTakeFirst();
  if (!row) throw notFound();
  return row;
}
