// Lists the rejects of an import, each with every violation.
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { App } from "../../engine/app.ts";
import { reasonAgainstCells } from "../../lib/csv/reason-against-cells.ts";
import { writeCsv } from "../../lib/csv/write-csv.ts";
import { decodeIntCursor, page, readBounded, type BoundedRows } from "../../lib/database/cursor.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { ColumnMap } from "./internal/column-map.ts";
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
 * Streams the rejects as CSV: the file's own columns and a last one with the errors, for correction and another import.
 * Cells beyond the header follow the errors, so that the row has too many cells until they are removed. Cells
 * that a spreadsheet would execute get an apostrophe, which the import removes; phones with a plus and
 * signed numbers stay as they are.
 */
export async function openLeadRejectsCsv(
  app: App,
  place: ImportPlace,
): Promise<AsyncGenerator<string>> {
  const found = await findLeadImport(app, place);
  const { header } = found;
  const own = (await isRejectsFile(app, place, found)) ? header.slice(0, -1) : header;
  return writeCsv<LeadReject>({
    header: [...own, errorsColumn(own)],
    page_rows: csv_page_rows,
    next: (after, limit) => rejectsAfter(app, place, after?.row ?? 0, limit),
    cells: ({ cells, errors }) => [
      ...own.map((_, at) => cells[at]),
      errors.map(({ field, reason }) => `${field}: ${reason}`).join("; "),
      ...(reasonAgainstCells(cells, header.length) === null ? [] : cells.slice(header.length)),
    ],
  });
}

/** Returns the name of the column with the errors: `errors`, or a number after it where the file has that column. */
function errorsColumn(own: readonly string[]): string {
  let name = "errors";
  for (let at = 2; own.includes(name); at++) name = `errors ${at}`;
  return name;
}

/** Reports whether the file is the CSV of an earlier import's rejects, whose last column is replaced. */
async function isRejectsFile(
  app: App,
  { account_id, workspace_id, import_id }: ImportPlace,
  { header, column_map }: { readonly header: readonly string[]; readonly column_map: unknown },
): Promise<boolean> {
  const own = header.slice(0, -1);
  const last = header.at(-1);
  if (last !== errorsColumn(own)) return false;
  const mapped = Object.values(column_map as ColumnMap).map((name) => name.trim());
  if (mapped.includes(last)) return false;
  const { rows } = await sql`
    select from lead_imports where account_id = ${account_id} and workspace_id = ${workspace_id}
      and id < ${import_id} and header = ${own}::text[] limit 1`.execute(app.db.query);
  return rows.length > 0;
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
