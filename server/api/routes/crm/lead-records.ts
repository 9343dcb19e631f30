// Leads after their creation: lists, look-ups, changes, notes and collaborators.
import Type from "typebox";
import { searchOn } from "../../../lib/database/cursor.ts";
import { addCollaborator } from "../../../crm/leads/add-collaborator.ts";
import { addNote } from "../../../crm/leads/add-note.ts";
import { findCustomValues, findLead } from "../../../crm/leads/find-lead.ts";
import { validateWithSchema } from "../../../crm/leads/validate-lead.ts";
import { LeadResponse } from "../../../crm/leads/lead-schema.ts";
import { listCollaborators } from "../../../crm/leads/list-collaborators.ts";
import { listLeads } from "../../../crm/leads/list-leads.ts";
import { listTimeline, TimelineEntry } from "../../../crm/leads/list-timeline.ts";
import { LeadPatch, updateLead } from "../../../crm/leads/update-lead.ts";
import { removeCollaborator } from "../../../crm/leads/remove-collaborator.ts";
import {
  LeadsPatch,
  UpdatedLeads,
  updateLeads,
  validateLeadsPatch,
} from "../../../crm/leads/update-leads.ts";
import { closed, crmPageOf, pageQuery, pathId } from "../../../lib/schemas.ts";
import { leadFilterQuery, readLeadFilter } from "../shared/lead-filter.ts";
import { requireWorkspace } from "../shared/require-workspace.ts";
import { route, type RequestContext } from "../../route.ts";

const workspaceId = pathId("The workspace");
const workspaceParams = closed({ workspaceId });
const leadParams = closed({ workspaceId, leadId: pathId("The lead") });
const collaboratorParams = closed({
  workspaceId,
  leadId: pathId("The lead"),
  userId: pathId("The user"),
});
const Collaborators = Type.Object(
  { data: LeadResponse.properties.collaborators },
  { title: "CollaboratorList" },
);

const leads = "/api/v1/crm/workspaces/:workspaceId/leads";
const lead = `${leads}/:leadId`;
const reads = { features: ["crm"], anyOf: ["crm.read"] } as const;
const changes = { features: ["crm"], anyOf: ["crm.write"] } as const;

type InWorkspace = Pick<
  RequestContext<{ workspaceId: number }, unknown, unknown>,
  "app" | "caller"
> & {
  readonly params: { readonly workspaceId: number };
};

const inWorkspace = ({ app, caller, params }: InWorkspace) =>
  requireWorkspace(app, caller.account.id, params.workspaceId);

const placeOf = (context: {
  readonly caller: InWorkspace["caller"];
  readonly params: { readonly workspaceId: number; readonly leadId: number };
}) => ({
  account_id: context.caller.account.id,
  workspace_id: context.params.workspaceId,
  lead_id: context.params.leadId,
});

export const leadRecordRoutes = [
  route({
    method: "GET",
    url: leads,
    id: "listLeads",
    from_replica: true,
    summary: "List and search leads, newest first",
    tag: "Leads",
    access: reads,
    params: workspaceParams,
    query: closed({ ...leadFilterQuery, ...pageQuery }),
    success: { 200: crmPageOf(LeadResponse) },
    precheck: inWorkspace,
    handle: ({ app, caller, params, query: { limit = 50, cursor, ...filter } }) =>
      searchOn({ limit, cursor }, (at) =>
        listLeads(
          app,
          caller.account.id,
          params.workspaceId,
          readLeadFilter(filter, caller.account),
          at,
        ),
      ),
  }),
  route({
    method: "GET",
    url: lead,
    id: "readLead",
    summary: "Read a lead",
    tag: "Leads",
    access: reads,
    params: leadParams,
    success: { 200: LeadResponse },
    precheck: inWorkspace,
    handle: ({ app, caller, params }) =>
      findLead(app.db.query, caller.account.id, params.workspaceId, params.leadId),
  }),
  route({
    method: "PATCH",
    url: lead,
    id: "updateLead",
    summary: "Change a lead",
    tag: "Leads",
    access: changes,
    params: leadParams,
    body: LeadPatch,
    success: { 200: LeadResponse },
    precheck: inWorkspace,
    validate: ({ app, caller, params, body }) =>
      validateWithSchema(app.workspaceSchemas, caller.account.id, params.workspaceId, body, () =>
        findCustomValues(app.db.query, caller.account.id, params.workspaceId, params.leadId),
      ),
    handle: (context) =>
      context.write((tx) =>
        updateLead(
          tx,
          placeOf(context),
          { user_id: context.caller.user_id, country_code: context.caller.account.country_code },
          context.body,
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "PATCH",
    url: leads,
    id: "updateLeads",
    summary: "Change status, priority, agent or collaborators of up to 500 leads, all or none",
    description:
      "Each lead that changes gets its timeline entry and its event lead.updated, as with a single change.",
    tag: "Leads",
    access: changes,
    params: workspaceParams,
    body: LeadsPatch,
    success: { 200: UpdatedLeads },
    precheck: inWorkspace,
    validate: ({ body }) => validateLeadsPatch(body),
    handle: ({ app, actor, params, body, write }) =>
      write((tx) => updateLeads(tx, actor, params.workspaceId, body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: `${lead}/timeline`,
    id: "listLeadTimeline",
    from_replica: true,
    summary: "List a lead's timeline, newest first",
    tag: "Leads",
    access: reads,
    params: leadParams,
    query: closed(pageQuery),
    success: { 200: crmPageOf(TimelineEntry) },
    precheck: inWorkspace,
    handle: (context) =>
      listTimeline(context.app, placeOf(context), {
        limit: context.query.limit ?? 50,
        cursor: context.query.cursor,
      }),
  }),
  route({
    method: "POST",
    url: `${lead}/notes`,
    id: "addLeadNote",
    summary: "Add a note to a lead",
    tag: "Leads",
    access: changes,
    params: leadParams,
    body: closed(
      { text: Type.String({ minLength: 1, maxLength: 5_000 }) },
      { title: "NewLeadNote", examples: [{ text: "Asked to be called on Monday" }] },
    ),
    success: { 201: TimelineEntry },
    precheck: inWorkspace,
    handle: (context) =>
      context.write((tx) =>
        addNote(
          tx,
          placeOf(context),
          { user_id: context.caller.user_id, text: context.body.text },
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "GET",
    url: `${lead}/collaborators`,
    id: "listLeadCollaborators",
    summary: "List the collaborators of a lead",
    tag: "Leads",
    access: reads,
    params: leadParams,
    success: { 200: Collaborators },
    precheck: inWorkspace,
    handle: (context) => listCollaborators(context.app.db.query, placeOf(context)),
  }),
  route({
    method: "PUT",
    url: `${lead}/collaborators/:userId`,
    id: "addLeadCollaborator",
    summary: "Add a collaborator to a lead",
    tag: "Leads",
    access: changes,
    params: collaboratorParams,
    success: { 200: Collaborators },
    precheck: inWorkspace,
    handle: (context) =>
      context.write((tx) =>
        addCollaborator(
          tx,
          placeOf(context),
          { userId: context.params.userId, by: context.caller.user_id },
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "DELETE",
    url: `${lead}/collaborators/:userId`,
    id: "removeLeadCollaborator",
    summary: "Remove a collaborator from a lead",
    tag: "Leads",
    access: changes,
    params: collaboratorParams,
    success: { 200: Collaborators },
    precheck: inWorkspace,
    handle: (context) =>
      context.write((tx) =>
        removeCollaborator(
          tx,
          placeOf(context),
          { userId: context.params.userId, by: context.caller.user_id },
          context.app.clock.now(),
        ),
      ),
  }),
];
