import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { addSuppression } from "../../../audience/suppressions/add-suppression.ts";
import { importSuppressions } from "../../../audience/suppressions/import-suppressions.ts";
import { validateSuppression } from "../../../audience/suppressions/validate-suppression.ts";
import { removeSuppression } from "../../../audience/suppressions/remove-suppression.ts";
import {
  NewSuppression,
  SuppressionResponse,
  SuppressionImport,
  SuppressionUpload,
  suppressionFilterQuery,
  suppressionQuery,
} from "../../../audience/suppressions/suppression-schema.ts";
import {
  exportSuppressions,
  listSuppressions,
} from "../../../audience/suppressions/suppressions.ts";
import { closed, pageOf, pathId } from "../../../lib/schemas.ts";
import { readPhoneQuery } from "../shared/phone-query.ts";
import { receiveUpload } from "../../bodies/receive-upload.ts";
import { route } from "../../route.ts";
import { sendExport } from "../shared/send-csv.ts";

const manage = { anyOf: ["suppressions.manage"] } as const;
const upload_fields = ["phone_number_column", "channel", "scope", "reason", "expires_at"];

export const suppressionRoutes = [
  route({
    method: "GET",
    url: "/api/v1/suppressions",
    id: "listSuppressions",
    from_replica: true,
    summary: "List suppressions, newest first",
    tag: "Suppressions",
    access: { anyOf: ["suppressions.read", "suppressions.manage"] },
    query: closed(suppressionQuery),
    success: { 200: pageOf(SuppressionResponse) },
    handle: ({ app, caller, query: { phone_number, limit = 50, cursor, ...filter } }) => {
      const phone = readPhoneQuery(phone_number, caller.account.country_code);
      return searchOn({ limit, cursor, now: app.clock.now() }, (at) =>
        listSuppressions(app.db.query, caller.account.id, { ...filter, ...phone }, at),
      );
    },
  }),
  route({
    method: "GET",
    url: "/api/v1/suppressions/export",
    id: "exportSuppressions",
    from_replica: true,
    summary: "Export suppressions to CSV, newest first; the file can be imported again",
    tag: "Suppressions",
    access: { anyOf: ["suppressions.read", "suppressions.manage"] },
    query: closed(suppressionFilterQuery),
    success: { 200: { contentType: "text/csv" } },
    handle: async (context) => {
      const { app, caller, query } = context;
      const { phone_number, ...rest } = query;
      const phone = readPhoneQuery(phone_number, caller.account.country_code);
      const filter = { ...rest, ...phone };
      const chunks = exportSuppressions(app, caller.account.id, filter, app.clock.now());
      return sendExport(
        context,
        { action: "suppressions.exported", file: "suppressions.csv" },
        chunks,
      );
    },
  }),
  route({
    method: "POST",
    url: "/api/v1/suppressions",
    id: "addSuppression",
    summary: "Suppress a number; answers with the manual suppression in effect",
    tag: "Suppressions",
    access: manage,
    body: NewSuppression,
    success: { 201: SuppressionResponse },
    validate: ({ app, caller, body }) => validateSuppression(body, caller.account, app.clock.now()),
    handle: ({ app, caller, actor, body, write }) =>
      write((tx) => addSuppression(tx, actor, body, caller.account, app.clock.now())),
  }),
  route({
    method: "POST",
    url: "/api/v1/suppressions/import",
    id: "importSuppressions",
    summary: "Import suppressions from a CSV file",
    tag: "Suppressions",
    access: manage,
    multipart: true,
    body: SuppressionUpload,
    success: { 200: SuppressionImport },
    handle: ({ app, caller, actor, request, reauthorize }) =>
      receiveUpload(
        caller.account.id,
        request,
        { file: "file", fields: upload_fields, is_csv: true },
        ({ fields, file }) =>
          importSuppressions(
            app,
            actor,
            caller.account,
            { fd: file?.fd ?? null, fields },
            reauthorize,
          ),
      ),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/suppressions/:id",
    id: "removeSuppression",
    summary: "End one suppression and no other of the same person",
    tag: "Suppressions",
    access: manage,
    params: closed({ id: pathId("The suppression") }),
    query: closed({
      reason: Type.Optional(Type.String({ maxLength: 255, description: "For the audit trail" })),
    }),
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, query: { reason }, write }) => {
      await write((tx) => removeSuppression(tx, actor, { id, reason }, app.clock.now()));
    },
  }),
];
