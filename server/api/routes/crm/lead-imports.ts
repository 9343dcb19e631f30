import {
  LeadImportPreview,
  LeadImportPreviewUpload,
  LeadImportResponse,
  LeadImportUpload,
  leadImportAnswerOf,
} from "../../../crm/lead-imports/lead-import-schema.ts";
import { findLeadImport, listLeadImports } from "../../../crm/lead-imports/list-lead-imports.ts";
import {
  LeadReject,
  listLeadRejects,
  openLeadRejectsCsv,
} from "../../../crm/lead-imports/list-lead-rejects.ts";
import { previewLeadImport } from "../../../crm/lead-imports/preview-lead-import.ts";
import { startLeadImport } from "../../../crm/lead-imports/start-lead-import.ts";
import Type from "typebox";
import { closed, crmPageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { acceptsCsv } from "../shared/accepts-csv.ts";
import { parseUpload } from "../../bodies/parse-upload.ts";
import { receiveUpload } from "../../bodies/receive-upload.ts";
import { requireCurrentWorkspace, requireWorkspace } from "../shared/require-workspace.ts";
import { route } from "../../route.ts";
import { sendExport } from "../shared/send-csv.ts";

const workspaceId = pathId("The workspace");
const workspaceParams = closed({ workspaceId });
const importParams = closed({ workspaceId, importId: pathId("The import") });

const workspace = "/api/v1/crm/workspaces/:workspaceId";
const imports = `${workspace}/leads/imports`;
const access = { features: ["crm"], anyOf: ["crm.import"] } as const;
const parts = { file: "file", fields: ["columnMap"], is_csv: true } as const;

export const leadImportRoutes = [
  route({
    method: "POST",
    url: `${workspace}/leads/import`,
    id: "importLeads",
    summary: "Import leads from a CSV file",
    tag: "Import and export",
    access,
    params: workspaceParams,
    multipart: true,
    body: LeadImportUpload,
    success: { 202: LeadImportResponse },
    parse: (context) =>
      parseUpload(context, parts, ({ fields, file }) => ({
        fd: file?.fd ?? null,
        file_name: file?.name ?? "",
        column_map: fields.get("columnMap"),
      })),
    precheck: ({ app, caller, params }) =>
      requireWorkspace(app, caller.account.id, params.workspaceId),
    handle: async ({ app, caller, actor, params, body, writeFromFile }) => {
      const schema = await requireCurrentWorkspace(app, caller.account.id, params.workspaceId);
      return startLeadImport(app, actor, schema, body, writeFromFile);
    },
  }),
  route({
    method: "POST",
    url: `${workspace}/leads/import/preview`,
    id: "previewLeadImport",
    summary: "Inspect a CSV file of leads and preview its rejects without importing it",
    tag: "Import and export",
    access,
    params: workspaceParams,
    multipart: true,
    body: LeadImportPreviewUpload,
    success: { 200: LeadImportPreview },
    precheck: ({ app, caller, params }) =>
      requireWorkspace(app, caller.account.id, params.workspaceId),
    handle: async ({ app, caller: { account }, params, request }) => {
      const schema = await requireCurrentWorkspace(app, account.id, params.workspaceId);
      return receiveUpload(account.id, request, parts, ({ fields, file }) =>
        previewLeadImport(app, account, schema, {
          fd: file?.fd ?? null,
          column_map: fields.get("columnMap"),
        }),
      );
    },
  }),
  route({
    method: "GET",
    url: imports,
    id: "listLeadImports",
    summary: "List imports, newest first",
    tag: "Import and export",
    access,
    params: workspaceParams,
    query: closed(pageQuery),
    success: { 200: crmPageOf(LeadImportResponse) },
    handle: ({ app, caller, params, query: { limit = 50, cursor } }) =>
      listLeadImports(app, caller.account.id, params.workspaceId, { limit, cursor }),
  }),
  route({
    method: "GET",
    url: `${imports}/:importId`,
    id: "readLeadImport",
    summary: "Read an import and its progress",
    tag: "Import and export",
    access,
    params: importParams,
    success: { 200: LeadImportResponse },
    handle: async ({ app, caller, params }) =>
      leadImportAnswerOf(await findLeadImport(app, placeOf(caller.account.id, params))),
  }),
  route({
    method: "GET",
    url: `${imports}/:importId/rejects`,
    id: "listLeadRejects",
    from_replica: true,
    summary: "List the rejected rows of an import, with the reasons",
    tag: "Import and export",
    access,
    params: importParams,
    query: closed({
      format: Type.Optional(
        Type.Unsafe<"json" | "csv">(
          Type.String({
            enum: ["json", "csv"],
            description:
              "csv: all of them, to correct and import again; the same as Accept: text/csv",
          }),
        ),
      ),
      ...pageQuery,
    }),
    success: {
      200: {
        content: {
          "application/json": { schema: crmPageOf(LeadReject) },
          "text/csv": { schema: Type.String() },
        },
      },
    },
    handle: async (context) => {
      const { app, caller, params, query, request } = context;
      const place = placeOf(caller.account.id, params);
      const format = query.format ?? (acceptsCsv(request.headers.accept) ? "csv" : "json");
      if (format === "json") {
        const { limit = 50, cursor } = query;
        return listLeadRejects(app, place, { limit, cursor });
      }
      const chunks = await openLeadRejectsCsv(app, place);
      const file = `import-${params.importId}-rejects.csv`;
      const entry = { action: "lead_rejects.exported", subject_id: params.importId, file } as const;
      return sendExport(context, entry, chunks);
    },
  }),
];

function placeOf(accountId: number, params: { workspaceId: number; importId: number }) {
  return { account_id: accountId, workspace_id: params.workspaceId, import_id: params.importId };
}
