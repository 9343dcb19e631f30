import { createLead } from "../../../crm/leads/create-lead.ts";
import { validateWithSchema } from "../../../crm/leads/validate-lead.ts";
import { createLeads } from "../../../crm/leads/lead-intake.ts";
import { LeadResponse, NewLead } from "../../../crm/leads/lead-schema.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { requireWorkspace } from "../shared/require-workspace.ts";
import { route } from "../../route.ts";

const workspaceParams = closed({ workspaceId: pathId("The workspace") });

export const leadRoutes = [
  route({
    method: "POST",
    url: "/api/v1/crm/workspaces/:workspaceId/leads/create",
    id: "createLead",
    summary: "Create a lead",
    tag: "Leads",
    access: { features: ["crm"], anyOf: ["crm.leads.create"] },
    params: workspaceParams,
    body: NewLead,
    success: { 201: LeadResponse },
    precheck: ({ app, caller, params }) =>
      requireWorkspace(app, caller.account.id, params.workspaceId),
    // createLead validates a lead of the right shape.
    explain: ({ app, caller, params, body }) =>
      validateWithSchema(app.workspaceSchemas, caller.account.id, params.workspaceId, body),
    handle: async ({ app, caller, params, body, keyed, write }) => {
      const create = (writeLead: typeof app.leadIntake.create) =>
        createLead(app.workspaceSchemas, writeLead, caller, params.workspaceId, body);
      if (!keyed) return create(app.leadIntake.create);
      // Not for a repeated key, which gets the stored response.
      let created = 0;
      const lead = await write((tx) => {
        created = 1;
        return create(
          async (accountId, row) => (await createLeads(tx, accountId, [row], app.clock.now()))[0]!,
        );
      });
      app.metrics.leadsCreated.inc(created);
      return lead;
    },
  }),
];
