import { Readable } from "node:stream";
import { recordAudit } from "../../accounts/record-audit.ts";
import { exportLeads } from "../../crm/export-leads.ts";
import { closed, pathId } from "../../lib/schemas.ts";
import { leadFilterQuery, readLeadFilter } from "../lead-filter.ts";
import { requireWorkspace } from "../require-workspace.ts";
import { route } from "../route.ts";

export const leadExportRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId/leads/export",
    id: "exportLeads",
    summary: "Export leads to CSV, newest first",
    tag: "Import and export",
    access: { features: ["crm"], anyOf: ["crm.export"] },
    params: closed({ workspaceId: pathId("The workspace") }),
    query: closed(leadFilterQuery),
    success: { 200: { contentType: "text/csv" } },
    before: async ({ app, caller, params }) =>
      void (await requireWorkspace(app, caller.account.id, params.workspaceId)),
    handle: async ({ app, caller, actor, params, query, reply }) => {
      const schema = await requireWorkspace(app, caller.account.id, params.workspaceId);
      const filter = readLeadFilter(query, caller.account.time_zone);
      // Data that leaves the house is written down, before it leaves.
      await app.db.query.transaction().execute((tx) =>
        recordAudit(tx, actor, {
          at: app.clock.now(),
          action: "leads.exported",
          subject_id: params.workspaceId,
          detail: { filters: Object.keys(filter) },
        }),
      );
      void reply.header("content-type", "text/csv; charset=utf-8");
      void reply.header(
        "content-disposition",
        `attachment; filename="leads-${params.workspaceId}.csv"`,
      );
      return Readable.from(exportLeads(app, caller.account.id, schema, filter), {
        objectMode: false,
        highWaterMark: 65_536,
      });
    },
  }),
];
