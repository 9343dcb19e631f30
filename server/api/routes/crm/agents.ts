import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { Agent, listAgents } from "../../../crm/workspaces/list-agents.ts";
import { closed, crmPageOf, pageQuery } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { lookUp, workspaceParams } from "./workspaces.ts";

export const agentRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId/agents",
    id: "listAgents",
    summary: "List the users that leads can be assigned to",
    tag: "Workspaces",
    access: lookUp,
    params: closed(workspaceParams),
    query: closed({
      ...pageQuery,
      active: Type.Optional(Type.Boolean({ description: "Only active, or only inactive, users" })),
    }),
    success: { 200: crmPageOf(Agent) },
    handle: ({ app, caller, params, query }) =>
      searchOn({ ...query, limit: query.limit ?? 50 }, (list) =>
        listAgents(app, caller.account.id, params.workspaceId, list),
      ),
  }),
];
