// Lists the rejects of an import, each with every violation.
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { decodeIntCursor, page, readBounded, type BoundedRows } from "../../lib/database/cursor.ts";
import type { FieldError } from "../../lib/errors.ts";
import { findLeadImport, type ImportPlace } from "./list-lead-imports.ts";

export const LeadReject = Type.Object(
  {
    row: Type.Integer({ description: "Its row in the file; the header is row 1" }),
    cells: Type.Array(Type.String(), { description: "The cells as in the file" }),
    errors: Type.Array(Type.Object({ field: Type.String(), reason: Type.String() })),
  },
  { title: "LeadReject" },
);
export type LeadReject = Static<typeof LeadReject>;

const csv_page_rows = 1_000;

/** Returns a page of rejects in file order; one with long cells has fewer than the limit. */
export async function listLeadRejects(
  app: App,
  place: ImportPlace,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: LeadReject[]; nextCursor: string | null }> {
  await findLeadImport(app, place);
  const after = at.cursor === undefined ? 0 : decodeIntCursor(at.cursor);
  const { rows: found, isCut } = await rejectsAfter(app, place, after, at.limit + 1);
  const { rows, next } = page(
    { rows: found.map((reject) => ({ id: reject.row, reject })), isCut },
    at.limit,
  );
  return { data: rows.map(({ reject }) => reject), nextCursor: next };
}

/**
 * Streams the rejects as CSV: the file's own columns and `errors`, for correction and another import. Cells
 * that a spreadsheet would execute get an apostrophe, which the import removes; phones with a plus and
 * signed numbers stay as they are.
 */
export async function openLeadRejectsCsv(
  app: App,
  place: ImportPlace,
): Promise<AsyncGenerator<string>> {
  const { header } = await findLeadImport(app, place);
  // A corrected reject file may still have this column.
  const kept = header.map((name, at) => ({ name, at })).filter(({ name }) => name !== "errors");
  return writeCsv<LeadReject>({
    header: [...kept.map(({ name }) => name), "errors"],
    page_rows: csv_page_rows,
    next: (after, limit) => rejectsAfter(app, place, after?.row ?? 0, limit),
    cells: ({ cells, errors }) => [
      ...kept.map(({ at }) => cells[at]),
      errors.map(({ field, reason }) => `${field}: ${reason}`).join("; "),
    ],
  });
}

/** Returns the next rejects in file order; a row may have a million characters. */
function rejectsAfter(
  app: App,
  place: ImportPlace,
  after: number,
  limit: number,
): Promise<BoundedRows<LeadReject>> {
  const query = sql<{ row: number; cells: string[]; errors: FieldError[] }>`
    select r.row_number as "row", r.cells, r.errors from lead_import_rejects r
    where r.account_id = ${place.account_id} and r.import_id = ${place.import_id}
      and r.row_number > ${after}
    order by r.row_number limit ${limit}`;
  return readBounded(app.db.query, query, { large: ["cells", "errors"], order: '"row"' });
}
