import { exportLeads } from "../../../crm/leads/export-leads.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { leadFilterQuery, readLeadFilter } from "../shared/lead-filter.ts";
import { requireWorkspace } from "../shared/require-workspace.ts";
import { route } from "../../route.ts";
import { sendExport } from "../shared/send-csv.ts";

export const leadExportRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId/leads/export",
    id: "exportLeads",
    from_replica: true,
    summary: "Export leads to CSV, newest first",
    tag: "Import and export",
    access: { features: ["crm"], anyOf: ["crm.export"] },
    params: closed({ workspaceId: pathId("The workspace") }),
    query: closed(leadFilterQuery),
    success: { 200: { contentType: "text/csv" } },
    precheck: ({ app, caller, params }) =>
      requireWorkspace(app, caller.account.id, params.workspaceId),
    handle: async (context) => {
      const { app, caller, params, query } = context;
      const schema = await requireWorkspace(app, caller.account.id, params.workspaceId);
      const filter = readLeadFilter(query, caller.account);
      const file = `leads-${params.workspaceId}.csv`;
      const entry = { action: "leads.exported" as const, subject_id: params.workspaceId, file };
      return sendExport(context, entry, exportLeads(app, caller.account.id, schema, filter));
    },
  }),
];
