// Lists the rejects of an import, each with every violation.
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { decodeIntCursor, page } from "../../lib/database/cursor.ts";
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
/** A row may have a million characters. */
const page_bytes_max = 4_000_000;

/** Returns a page of rejects in file order; one with long cells has fewer than the limit. */
export async function listLeadRejects(
  app: App,
  place: ImportPlace,
  at: { limit: number; cursor?: string | undefined },
): Promise<{ data: LeadReject[]; nextCursor: string | null }> {
  await findLeadImport(app, place);
  const after = at.cursor === undefined ? 0 : decodeIntCursor(at.cursor);
  const { rejects, end } = await rejectsAfter(app, place, after, at.limit + 1);
  const { rows, next } = page(
    rejects.map((reject) => ({ id: reject.row, reject })),
    at.limit,
    end,
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
    short_pages: true,
    next: async (after, limit) => (await rejectsAfter(app, place, after?.row ?? 0, limit)).rejects,
    cells: ({ cells, errors }) => [
      ...kept.map(({ at }) => cells[at]),
      errors.map(({ field, reason }) => `${field}: ${reason}`).join("; "),
    ],
  });
}

type RejectRow = { row_number: number; cells: string[]; errors: FieldError[]; found: number };

/** Returns the rejects up to the limits of rows and bytes, always the first; `end` is the last if bytes were the limit. */
async function rejectsAfter(
  app: App,
  place: ImportPlace,
  after: number,
  limit: number,
): Promise<{ rejects: LeadReject[]; end: number | null }> {
  const { rows } = await sql<RejectRow>`
    select row_number, cells, errors, found from (
      select row_number, cells, errors, count(*) over () as found,
        sum(bytes) over (order by row_number) - bytes as bytes_before
      from (
        select r.row_number, r.cells, r.errors,
          octet_length(r.cells::text) + octet_length(r.errors::text) as bytes
        from lead_import_rejects r
        where r.account_id = ${place.account_id} and r.import_id = ${place.import_id}
          and r.row_number > ${after}
        order by r.row_number limit ${limit}
      ) page
    ) measured
    where bytes_before < ${page_bytes_max}
    order by row_number`.execute(app.db.query);
  const rejects = rows.map(({ row_number, cells, errors }) => ({ row: row_number, cells, errors }));
  const last = rows.at(-1);
  return { rejects, end: last && rows.length < last.found ? last.row_number : null };
}
