import Type from "typebox";
import { createFlow } from "../../../chat/flows/create-flow.ts";
import { deleteFlow } from "../../../chat/flows/delete-flow.ts";
import {
  AutomationFlowResponse,
  FlowPatch,
  validateFlow,
  NewFlow,
} from "../../../chat/flows/flow-schema.ts";
import { findFlow, listFlows } from "../../../chat/flows/flows.ts";
import { updateFlow } from "../../../chat/flows/update-flow.ts";
import { closed, pageOf, pageQuery } from "../../../lib/schemas.ts";
import { route } from "../../route.ts";
import { manageChat, seeChat } from "./chat-holds.ts";

const flows = "/api/v1/automation-flows";
const flowParams = closed({ id: Type.String({ format: "uuid", description: "The flow" }) });
const tag = "Automation flows";

export const automationFlowRoutes = [
  route({
    method: "GET",
    url: flows,
    id: "listAutomationFlows",
    summary: "List automation flows",
    tag,
    access: seeChat,
    query: closed(pageQuery),
    success: { 200: pageOf(AutomationFlowResponse) },
    handle: ({ app, caller, query }) =>
      listFlows(app.db.query, "automation_flows", caller.account.id, query),
  }),
  route({
    method: "POST",
    url: flows,
    id: "createAutomationFlow",
    summary: "Create an automation flow",
    tag,
    access: manageChat,
    body: NewFlow,
    success: { 201: AutomationFlowResponse },
    validate: ({ body }) => validateFlow(body),
    handle: ({ app, actor, body, write }) =>
      write((tx) => createFlow(tx, actor, "automation_flows", body, app.clock.now())),
  }),
  route({
    method: "GET",
    url: `${flows}/:id`,
    id: "readAutomationFlow",
    summary: "Read an automation flow",
    tag,
    access: seeChat,
    params: flowParams,
    success: { 200: AutomationFlowResponse },
    handle: ({ app, caller, params }) =>
      findFlow(app.db.query, "automation_flows", caller.account.id, params.id),
  }),
  route({
    method: "PATCH",
    url: `${flows}/:id`,
    id: "updateAutomationFlow",
    summary: "Update an automation flow",
    tag,
    access: manageChat,
    params: flowParams,
    body: FlowPatch,
    success: { 200: AutomationFlowResponse },
    validate: ({ body }) => validateFlow(body),
    handle: ({ app, actor, params: { id }, body, write }) =>
      write((tx) => updateFlow(tx, actor, { kind: "automation_flows", id }, body, app.clock.now())),
  }),
  route({
    method: "DELETE",
    url: `${flows}/:id`,
    id: "deleteAutomationFlow",
    summary: "Delete an automation flow; existing campaigns keep their message",
    tag,
    access: manageChat,
    params: flowParams,
    success: { 204: Type.Null() },
    handle: async ({ app, actor, params: { id }, write }) => {
      await write((tx) => deleteFlow(tx, actor, { kind: "automation_flows", id }, app.clock.now()));
    },
  }),
];
