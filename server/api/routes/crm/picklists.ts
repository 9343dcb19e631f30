import Type from "typebox";
import { createPicklistOption } from "../../../crm/fields/create-picklist-option.ts";
import { deletePicklistOption } from "../../../crm/fields/delete-picklist-option.ts";
import { listPicklists } from "../../../crm/fields/list-picklists.ts";
import {
  NewPicklistOption,
  PicklistOptionResponse,
  PicklistOptionPatch,
  Picklists,
} from "../../../crm/fields/picklist-schema.ts";
import { updatePicklistOption } from "../../../crm/fields/update-picklist-option.ts";
import type { Picklist } from "../../../crm/workspaces/workspace-schema.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { archivedQuery, changeWorkspace, lookUp, manage, workspaceParams } from "./workspaces.ts";

const picklistParams = {
  ...workspaceParams,
  picklist: Type.Enum(["status", "source", "priority"] as const, { type: "string" }),
};
const optionParams = { ...picklistParams, optionId: pathId("The option") };

export const picklistRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId/picklists",
    id: "listPicklists",
    summary: "List the options of every picklist",
    tag: "Picklists",
    access: lookUp,
    params: closed(workspaceParams),
    query: archivedQuery,
    success: { 200: Picklists },
    handle: ({ app, caller, params, query }) =>
      listPicklists(app, caller.account.id, params.workspaceId, {
        includeArchived: query.includeArchived ?? false,
      }),
  }),
  route({
    method: "POST",
    url: "/api/v1/crm/workspaces/:workspaceId/picklists/:picklist/options",
    id: "createPicklistOption",
    summary: "Add an option to a picklist",
    tag: "Picklists",
    access: manage,
    params: closed(picklistParams),
    body: NewPicklistOption,
    success: { 201: PicklistOptionResponse },
    validate: ({ params, body }) => validateDefault(params.picklist, body),
    handle: (context) =>
      changeWorkspace(context, (tx) =>
        createPicklistOption(
          tx,
          context.actor,
          context.params,
          context.body,
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/crm/workspaces/:workspaceId/picklists/:picklist/options/:optionId",
    id: "updatePicklistOption",
    summary: "Change, archive or restore an option, or make it the default",
    tag: "Picklists",
    access: manage,
    params: closed(optionParams),
    body: PicklistOptionPatch,
    success: { 200: PicklistOptionResponse },
    validate: ({ params, body }) => validateDefault(params.picklist, body),
    handle: (context) =>
      changeWorkspace(context, (tx) =>
        updatePicklistOption(
          tx,
          context.actor,
          context.params,
          context.body,
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/crm/workspaces/:workspaceId/picklists/:picklist/options/:optionId",
    id: "deletePicklistOption",
    summary: "Delete an option that no lead uses",
    tag: "Picklists",
    access: manage,
    params: closed(optionParams),
    success: { 204: Type.Null() },
    handle: (context) =>
      deletePicklistOption(context.app, context.actor, context.params, (effect) =>
        changeWorkspace(context, effect),
      ),
  }),
];

/** The source of a lead is optional: that picklist has no default. */
function validateDefault(picklist: Picklist, body: unknown): FieldError[] {
  const isDefault = (body as { isDefault?: unknown } | null)?.isDefault;
  if (picklist !== "source" || isDefault !== true) return [];
  return [{ field: "isDefault", reason: "cannot be true: the source picklist has no default" }];
}
