// CSV imports in API requests and responses.
import type { Selectable } from "kysely";
import Type, { type Static } from "typebox";
import type { DB } from "../../lib/database/database.ts";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

/** The parts of an upload, in any order. */
export const LeadImportUpload = Type.Object(
  {
    file: Type.String({
      format: "binary",
      description: "A CSV of at most 256 MB and 1,000,000 rows",
    }),
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
    columnMap: Type.Record(Type.String(), Type.String()),
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
    failure: row.failure,
    totalRows: row.total_rows,
    createdCount: row.created_count,
    rejectedCount: row.rejected_count,
    columnMap: row.column_map as Record<string, string>,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
  };
}
