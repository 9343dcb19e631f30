import Type from "typebox";
import { createWorkspace } from "../../../crm/workspaces/create-workspace.ts";
import { findWorkspace } from "../../../crm/workspaces/find-workspace.ts";
import { listWorkspaces } from "../../../crm/workspaces/list-workspaces.ts";
import { updateWorkspace } from "../../../crm/workspaces/update-workspace.ts";
import {
  NewWorkspace,
  WorkspaceResponse,
  WorkspacePatch,
} from "../../../crm/workspaces/workspace-response.ts";
import { workspaceSubject } from "../../../crm/workspaces/workspace-schema.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { closed, crmPageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { route, type Access, type RequestContext } from "../../route.ts";

/** Who may read what leads refer to. */
export const lookUp: Access = {
  features: ["crm"],
  anyOf: ["crm.read", "crm.leads.create", "crm.manage"],
};
/** Who may change the CRM's configuration. */
export const manage: Access = { features: ["crm"], anyOf: ["crm.manage"] };

export const workspaceParams = { workspaceId: pathId("The workspace") };
/** The query of lists that hide archived entries by default. */
export const archivedQuery = closed({
  includeArchived: Type.Optional(Type.Boolean({ default: false })),
});

/** Runs a write to a workspace; after the commit, notifies every process to refresh its copy. */
export async function changeWorkspace<Answer>(
  {
    app,
    caller,
    params,
    write,
  }: Pick<
    RequestContext<{ workspaceId: number }, never, never>,
    "app" | "caller" | "params" | "write"
  >,
  effect: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  const answer = await write(effect);
  app.notifications.send("workspace", workspaceSubject(caller.account.id, params.workspaceId));
  return answer;
}

export const workspaceRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces",
    id: "listWorkspaces",
    summary: "List workspaces",
    tag: "Workspaces",
    access: lookUp,
    query: closed(pageQuery),
    success: { 200: crmPageOf(WorkspaceResponse) },
    handle: ({ app, caller, query }) =>
      listWorkspaces(app, caller.account.id, { ...query, limit: query.limit ?? 50 }),
  }),
  route({
    method: "POST",
    url: "/api/v1/crm/workspaces",
    id: "createWorkspace",
    summary: "Create a workspace with its picklists",
    tag: "Workspaces",
    access: manage,
    body: NewWorkspace,
    success: { 201: WorkspaceResponse },
    handle: ({ app, actor, body, write }) =>
      write((tx) => createWorkspace(tx, actor, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId",
    id: "readWorkspace",
    summary: "Read a workspace",
    tag: "Workspaces",
    access: lookUp,
    params: closed(workspaceParams),
    success: { 200: WorkspaceResponse },
    handle: ({ app, caller, params }) =>
      findWorkspace(app.db.query, caller.account.id, params.workspaceId),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/crm/workspaces/:workspaceId",
    id: "updateWorkspace",
    summary: "Rename, deactivate or reactivate a workspace",
    tag: "Workspaces",
    access: manage,
    params: closed(workspaceParams),
    body: WorkspacePatch,
    success: { 200: WorkspaceResponse },
    handle: (context) =>
      changeWorkspace(context, (tx) =>
        updateWorkspace(
          tx,
          context.actor,
          context.params.workspaceId,
          context.body,
          context.app.clock.now(),
        ),
      ),
  }),
];
