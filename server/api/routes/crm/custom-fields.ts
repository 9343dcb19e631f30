import Type from "typebox";
import { createCustomField } from "../../../crm/fields/create-custom-field.ts";
import {
  CustomFieldResponse,
  CustomFieldPatch,
  NewCustomField,
  validateNewCustomField,
} from "../../../crm/fields/custom-field-schema.ts";
import { deleteCustomField } from "../../../crm/fields/delete-custom-field.ts";
import { listCustomFields } from "../../../crm/fields/list-custom-fields.ts";
import { updateCustomField } from "../../../crm/fields/update-custom-field.ts";
import { closed, pathId } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { archivedQuery, changeWorkspace, lookUp, manage, workspaceParams } from "./workspaces.ts";

const fieldParams = { ...workspaceParams, fieldId: pathId("The custom field") };

export const customFieldRoutes = [
  route({
    method: "GET",
    url: "/api/v1/crm/workspaces/:workspaceId/custom-fields",
    id: "listCustomFields",
    summary: "List custom fields",
    tag: "Custom fields",
    access: lookUp,
    params: closed(workspaceParams),
    query: archivedQuery,
    success: {
      200: Type.Object({ data: Type.Array(CustomFieldResponse) }, { title: "CustomFieldList" }),
    },
    handle: ({ app, caller, params, query }) =>
      listCustomFields(app, caller.account.id, params.workspaceId, {
        includeArchived: query.includeArchived ?? false,
      }),
  }),
  route({
    method: "POST",
    url: "/api/v1/crm/workspaces/:workspaceId/custom-fields",
    id: "createCustomField",
    summary: "Add a custom field",
    tag: "Custom fields",
    access: manage,
    params: closed(workspaceParams),
    body: NewCustomField,
    success: { 201: CustomFieldResponse },
    validate: ({ body }) => validateNewCustomField(body),
    handle: (context) =>
      changeWorkspace(context, (tx) =>
        createCustomField(
          tx,
          context.actor,
          context.params.workspaceId,
          context.body,
          context.app.clock.now(),
        ),
      ),
  }),
  route({
    method: "PATCH",
    url: "/api/v1/crm/workspaces/:workspaceId/custom-fields/:fieldId",
    id: "updateCustomField",
    summary: "Change, archive or restore a custom field",
    tag: "Custom fields",
    access: manage,
    params: closed(fieldParams),
    body: CustomFieldPatch,
    success: { 200: CustomFieldResponse },
    handle: (context) =>
      changeWorkspace(context, (tx) =>
        updateCustomField(tx, context.actor, context.params, context.body, context.app.clock.now()),
      ),
  }),
  route({
    method: "DELETE",
    url: "/api/v1/crm/workspaces/:workspaceId/custom-fields/:fieldId",
    id: "deleteCustomField",
    summary: "Delete a custom field that no lead uses",
    tag: "Custom fields",
    access: manage,
    params: closed(fieldParams),
    success: { 204: Type.Null() },
    handle: (context) =>
      deleteCustomField(context.app, context.actor, context.params, (effect) =>
        changeWorkspace(context, effect),
      ),
  }),
];
