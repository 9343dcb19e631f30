import type { Kysely } from "kysely";
import type { TemplateCategory, TemplateStatus } from "../../drivers/chat/driver.ts";
import { decodeCursor, endOfSearch, page, readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { template_columns, templateResponse, type TemplateResponse } from "./template-schema.ts";

export type TemplateFilter = {
  readonly status?: TemplateStatus;
  readonly category?: TemplateCategory;
  readonly language?: string;
  /** Substring of the name. */
  readonly q?: string;
};

/** Returns a page of the account's templates, ordered by ID; 422 for an invalid cursor. */
export async function listTemplates(
  db: Kysely<DB>,
  accountId: number,
  filter: TemplateFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ data: TemplateResponse[]; next_cursor: string | null }> {
  let query = templateRows(db, accountId).orderBy("id");
  if (cursor !== undefined) query = query.where("id", ">", decodeCursor(cursor));
  const isFiltered = Object.keys(filter).length > 0;
  const end = isFiltered ? await endOfSearch(query.clearSelect().select("id")) : null;
  if (end !== null) query = query.where("id", "<=", end);
  for (const column of ["status", "category", "language"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  const q = filter.q?.trim() ?? "";
  if (q !== "") query = query.where("name", "ilike", `%${q.replaceAll(/[\\%_]/g, "\\$&")}%`);
  const found = await readBounded(db, query.limit(limit + 1), {
    large: ["components", "variable_defaults"],
    order: "id",
  });
  const { rows, next } = page(found, limit, end);
  return { data: rows.map(templateResponse), next_cursor: next };
}

/** Returns one template of the account. Errors: not-found. */
export async function findTemplate(
  db: Kysely<DB>,
  accountId: number,
  templateId: number,
): Promise<TemplateResponse> {
  const row = await templateRows(db, accountId).where("id", "=", templateId).executeTakeFirst();
  if (!row) throw notFound();
  return templateResponse(row);
}

function templateRows(db: Kysely<DB>, accountId: number) {
  return db
    .selectFrom("chat_templates")
    .select(template_columns)
    .where("account_id", "=", accountId);
}
