// CSV imports in API requests and responses.
import type { Selectable } from "kysely";
import Type, { type Static } from "typebox";
import type { DB } from "../../lib/database/database.ts";
import { id, mapOf, nullable, timestamp } from "../../lib/schemas.ts";

/** The most rows that a preview checks. */
export const checked_rows_max = 20_000;

const file = Type.String({
  format: "binary",
  description: "A CSV of at most 256 MB and 1,000,000 rows",
});

/** The parts of an upload, in any order. */
export const LeadImportUpload = Type.Object(
  {
    file,
    columnMap: Type.String({
      description:
        "JSON object {lead field or customFields.<key>: column header}; phone is required",
    }),
  },
  { title: "LeadImportUpload" },
);

export const LeadImportResponse = Type.Object(
  {
    id: id("Import id"),
    workspaceId: id("Workspace the leads go to"),
    fileName: Type.String(),
    state: Type.Unsafe<"processing" | "completed" | "failed">(
      Type.String({ enum: ["processing", "completed", "failed"] }),
    ),
    failure: nullable(Type.String({ description: "Why the import failed" })),
    totalRows: Type.Integer({ description: "Rows below the header, without empty ones" }),
    createdCount: Type.Integer({ description: "Leads created so far" }),
    rejectedCount: Type.Integer({ description: "Rows rejected so far" }),
    columnMap: mapOf(Type.String()),
    createdBy: id("ID of the importing user"),
    createdAt: timestamp("UTC"),
    finishedAt: nullable(timestamp("UTC")),
  },
  { title: "LeadImport" },
);
export type LeadImportResponse = Static<typeof LeadImportResponse>;

export function leadImportAnswerOf(row: Selectable<DB["lead_imports"]>): LeadImportResponse {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    fileName: row.file_name,
    state: row.state as LeadImportResponse["state"],
    // Already stored while the remaining rows are dropped.
    failure: row.state === "failed" ? row.failure : null,
    totalRows: row.total_rows,
    createdCount: row.created_count,
    rejectedCount: row.rejected_count,
    columnMap: row.column_map as Record<string, string>,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}

/** The parts of an upload that is only inspected. */
export const LeadImportPreviewUpload = Type.Object(
  {
    file,
    columnMap: Type.Optional(
      Type.String({
        description: "As of an import; without it, one is guessed and the rows are not checked",
      }),
    ),
  },
  { title: "LeadImportPreviewUpload" },
);

const count = (description: string) => Type.Integer({ description });
const row = Type.Integer({ description: "Its row in the file; the header is row 1" });
const cells = Type.Array(Type.String(), { description: "The first 200 characters of each cell" });
const violation = { field: Type.String(), reason: Type.String() };

const LeadImportCheck = Type.Object(
  {
    checkedCount: count(`The rows that were checked: the first ${checked_rows_max}`),
    complete: Type.Boolean({ description: "Whether these are all rows of the file" }),
    rejectedCount: count("Those of them that an import would reject"),
    reasons: Type.Array(Type.Object({ ...violation, count: count("Rows with this violation") }), {
      description: "The violations, the most frequent first; at most 100",
    }),
    rejects: Type.Array(Type.Object({ row, cells, errors: Type.Array(Type.Object(violation)) }), {
      description: "The first 20 of the rows that would be rejected",
    }),
  },
  { title: "LeadImportCheck" },
);

export const LeadImportPreview = Type.Object(
  {
    header: Type.Array(Type.String(), { description: "The columns' headers" }),
    rows: Type.Array(Type.Object({ row, cells }), { description: "The first five rows" }),
    columnMap: mapOf(Type.String(), {
      description: "The map of the request, or one guessed by the headers",
    }),
    check: Type.Unsafe<Static<typeof LeadImportCheck> | null>({
      anyOf: [LeadImportCheck, { type: "null" }],
      description: "What an import would reject; null without a map in the request",
    }),
  },
  { title: "LeadImportPreview" },
);
export type LeadImportPreview = Static<typeof LeadImportPreview>;
